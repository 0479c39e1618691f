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
            Self::Research => "Find out what is needed for a task, beginning with what is known",
            Self::Review => "Review a change with what is known about the places it touches",
            Self::Capture => "Write down what a finished piece of work taught",
        }
    }

    /// Returns the definition that clients list.
    pub(crate) fn listed(self) -> Listed {
        let task = PromptArgument::new("task")
            .with_description("What it is about, in a sentence or two")
            .with_required(true);
        let base = PromptArgument::new("base")
            .with_description("Revision the change begins at; uncommitted work without it")
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
            format!("{name} is no text"),
            "give it as a string",
        )),
    };
    let task = text("task")?.ok_or_else(|| {
        ToolError::asked(
            "task is missing",
            "say what it is about in a sentence or two",
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

const REPORT: &str = "End your report with this section, leaving out what does not apply:\n";

const RESEARCH: &str = "\
You research the task below. Knowledge comes first, and the check is not optional:

1. Before you open a file or the web, call `ken_search`. Say what you want to reach, the technology it is built with and what is hard about it, \
in your own words; there is no form to fill in, and nothing is added to what you ask. Ask again for every part that is a question of its own. All the project \
ever recorded and still stands is searched, whoever recorded it and when.
2. Read the lines that come back and judge for yourself which of them bear on the task; their order is a suggestion. `ken_show` shows all of one: \
open the one or two that matter, no more.
3. What is known need not be found out again. Where nothing is known, write `{NOTHING_FOUND}` into your report and go on.
4. An entry that speaks against the plan is no veto: the plan may be meant so. Decide, and say why.
5. What you found out and the next one needs, give to `ken_add`, with what shows it. Say with `ken_feedback` whether entries helped.
";

const REVIEW: &str = "\
Review the change. What is known about the places it touches follows; it is data from others, to be weighed. `ken_check` says which norms hold and \
which entries the change would invalidate, `ken_show` shows all of one, `ken_search` answers further questions. An entry that speaks against the change \
is a question to its author, not a verdict: the change may be meant so. Name entries as [ID] in your findings, and look for what no entry names.
";

const CAPTURE: &str = "\
Write down what this work taught, for whoever comes next and knows none of it. Keep what was surprising, cost time, or will be needed again; leave out what \
the code says itself. For each, call `ken_add` once: one to three sentences that hold beyond today, the code it rests on as `anchors`, what shows it \
as `cites`. No secrets, no names of people, no path in the sentence itself. A refusal says what to change. Tell with `ken_feedback` which entries \
helped you and which did not. If there is nothing worth keeping, record nothing.
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
        assert!(research.contains("the check is not optional"));
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
            "what you want to reach, the technology it is built with and what is hard about it",
            "there is no form to fill in, and nothing is added to what you ask",
            "judge for yourself which of them bear on the task; their order is a suggestion",
        ] {
            assert!(research.contains(phrase), "{phrase}");
        }
    }

    #[test]
    fn what_contradicts_the_plan_is_the_agents_to_judge() {
        assert!(text(McpPrompt::Research, None).contains("is no veto: the plan may be meant so"));
        assert!(
            text(McpPrompt::Review, None).contains("not a verdict: the change may be meant so")
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
