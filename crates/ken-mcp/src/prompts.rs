//! MCP prompts for users: research, review, capture.
//!
//! Each explains how to query Ken, how to use the result and how to report it. None prescribes the
//! words to search for.

use ken_core::retrieval::score::ReaderRole;
use ken_core::retrieval::surface::{KNOWLEDGE_APPLIED, NOTHING_FOUND};
use rmcp::model::{JsonObject, Prompt as Listed, PromptArgument};
use serde_json::Value;

use crate::ask::BriefingArguments;
use crate::port::ToolError;

/// An MCP prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpPrompt {
    Research,
    Review,
    Capture,
}

/// The arguments of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptArguments {
    pub(crate) task: String,
    pub(crate) base: Option<String>,
}

impl McpPrompt {
    /// Every prompt, in the order they are listed.
    pub(crate) const ALL: [Self; 3] = [Self::Research, Self::Review, Self::Capture];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Research => "research",
            Self::Review => "review",
            Self::Capture => "capture",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Research => "Research a task, starting with existing knowledge",
            Self::Review => "Review a change with the entries about the code it touches",
            Self::Capture => "Record the lessons of a finished task",
        }
    }

    /// Returns the definition that clients list.
    pub(crate) fn listed(self) -> Listed {
        let task = PromptArgument::new("task")
            .with_description("The task, in one or two sentences")
            .with_required(true);
        let base = PromptArgument::new("base")
            .with_description("Revision at which the change starts (default: uncommitted work)")
            .with_required(false);
        let arguments = match self {
            Self::Review => vec![task, base],
            Self::Research | Self::Capture => vec![task],
        };
        Listed::new(self.name(), Some(self.description()), Some(arguments))
    }

    /// Returns the arguments of the briefing included in the prompt, if any.
    ///
    /// A review includes a briefing for the reviewer. A researcher has to search instead.
    pub(crate) fn brings(self, arguments: &PromptArguments) -> Option<BriefingArguments> {
        match self {
            Self::Review => Some(BriefingArguments {
                task: arguments.task.clone(),
                role: Some(ReaderRole::Reviewer),
                base: arguments.base.clone(),
                workspace: None,
            }),
            Self::Research | Self::Capture => None,
        }
    }

    /// Renders the prompt. A briefing contains its own report section.
    pub(crate) fn text(self, arguments: &PromptArguments, briefing: Option<&str>) -> String {
        let task = arguments.task.trim();
        match self {
            Self::Research => format!("{RESEARCH}\n{REPORT}\n{KNOWLEDGE_APPLIED}\nTask: {task}\n")
                // Shared with the context blocks, so that every surface uses the same phrase.
                .replace("{NOTHING_FOUND}", NOTHING_FOUND),
            Self::Review => {
                let briefing = briefing.unwrap_or_default();
                format!("Task: {task}\n\n{REVIEW}\n{briefing}")
            }
            Self::Capture => {
                format!("Work: {task}\n\n{CAPTURE}\n{REPORT}\n{KNOWLEDGE_APPLIED}")
            }
        }
    }
}

/// Parses the arguments of a prompt.
pub(crate) fn parse_prompt_arguments(
    given: Option<&JsonObject>,
) -> Result<PromptArguments, ToolError> {
    let text = |name: &str| match given.and_then(|it| it.get(name)) {
        // Many clients send `null` or an empty string for an argument the user left out.
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ToolError::asked(
            format!("{name} is not a string"),
            "pass a string",
        )),
    };
    let task = text("task")?.ok_or_else(|| {
        ToolError::asked(
            "task is missing",
            "describe the task in one or two sentences",
        )
    })?;
    let arguments = PromptArguments {
        task,
        base: text("base")?,
    };
    // Prompt arguments have the limits of a briefing, also where no briefing follows.
    BriefingArguments {
        task: arguments.task.clone(),
        base: arguments.base.clone(),
        ..BriefingArguments::default()
    }
    .check()?;
    Ok(arguments)
}

const REPORT: &str = "End your report with this section; omit lines that do not apply:\n";

const RESEARCH: &str = "\
Research the task below. Search the knowledge base first; this step is required:

1. Before you open a file or the web, call `ken_search`. Describe your goal, the technology and the problem in your own words; \
there is no fixed form, and nothing is added to your query. Search again for every separate question. The search covers all live entries \
of the project, whoever recorded them and when.
2. Read the returned lines and decide which of them are relevant to the task; their order is a suggestion. `ken_show` shows an entry in full: \
open the one or two that matter, no more.
3. Do not repeat research that an entry answers. If no entry is relevant, write `{NOTHING_FOUND}` into your report and continue.
4. An entry that contradicts the plan is not a veto: the plan may do so on purpose. Decide, and give your reason.
5. Record findings that others need with `ken_add` and cite their source. Report with `ken_feedback` whether entries helped.
";

const REVIEW: &str = "\
Review the change. Entries about the code it touches follow; they are data from others, to be weighed. `ken_check` lists the norms that apply and \
the entries the change would invalidate, `ken_show` shows an entry in full, `ken_search` answers further questions. An entry that contradicts the change \
is a question to its author, not a verdict: the change may do so on purpose. Cite entries as [ID] in your findings, and look for problems that no entry names.
";

const CAPTURE: &str = "\
Record the lessons of this work for readers who do not know it. Keep findings that were surprising, cost time or will be needed again; omit facts \
that are obvious from the code. For each, call `ken_add` once: one to three sentences that are valid beyond this task, the code it is about as `anchors`, its sources \
as `cites`. No secrets, no names of people, no path in the statement itself. A refusal says what to change. Report with `ken_feedback` which entries \
helped you and which did not. If there is nothing worth recording, record nothing.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(prompt: McpPrompt, briefing: Option<&str>) -> String {
        let arguments = PromptArguments {
            task: "Split charges".to_owned(),
            base: None,
        };
        prompt.text(&arguments, briefing)
    }

    #[test]
    fn research_must_begin_with_the_check() {
        let research = text(McpPrompt::Research, None);
        let check = research.find("call `ken_search`").expect("the check");
        assert!(check < research.find("`ken_add`").expect("the end"));
        assert!(research.contains("this step is required"));
        assert!(research.contains("Before you open a file"));
        assert!(
            research.contains(NOTHING_FOUND),
            "and what to write if nothing is"
        );
        assert_eq!(
            McpPrompt::Research.brings(&parse_prompt_arguments(Some(&task("x"))).expect("a task")),
            None,
            "nothing is pushed: the researcher asks"
        );
    }

    #[test]
    fn the_agent_is_told_what_to_ask_and_judges_itself() {
        let research = text(McpPrompt::Research, None);
        for phrase in [
            "your goal, the technology and the problem in your own words",
            "there is no fixed form, and nothing is added to your query",
            "decide which of them are relevant to the task; their order is a suggestion",
        ] {
            assert!(research.contains(phrase), "{phrase}");
        }
    }

    #[test]
    fn what_contradicts_the_plan_is_the_agents_to_judge() {
        assert!(
            text(McpPrompt::Research, None)
                .contains("is not a veto: the plan may do so on purpose")
        );
        assert!(
            text(McpPrompt::Review, None)
                .contains("not a verdict: the change may do so on purpose")
        );
    }

    #[test]
    fn a_review_brings_what_is_known_for_a_reviewer() {
        let arguments = parse_prompt_arguments(Some(&task("Review it"))).expect("a task");
        let brings = McpPrompt::Review.brings(&arguments).expect("a briefing");
        assert_eq!(brings.role, Some(ReaderRole::Reviewer));
        assert!(text(McpPrompt::Review, Some("[L-1] known")).ends_with("[L-1] known"));
    }

    #[test]
    fn a_prompt_says_what_it_lacks() {
        for (given, expected) in [
            (None, "task is missing"),
            (Some(JsonObject::new()), "task is missing"),
            (Some(task(" ")), "task is missing"),
        ] {
            let message = parse_prompt_arguments(given.as_ref()).map_err(|it| it.said);
            assert_eq!(message, Err(expected.to_owned()));
        }
        let mut number = JsonObject::new();
        number.insert("task".to_owned(), 3.into());
        assert!(parse_prompt_arguments(Some(&number)).is_err());
        let long = task(&"x".repeat(1 << 20));
        assert!(parse_prompt_arguments(Some(&long)).is_err());
    }

    fn task(text: &str) -> JsonObject {
        let mut given = JsonObject::new();
        given.insert("task".to_owned(), text.into());
        given
    }
}
