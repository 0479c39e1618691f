//! `ken judge`: who is asked where Ken cannot tell, and what asking takes.

use ken_engine::Error;
use ken_engine::judge::{Choice, Endpoint, Judge, Spent};
use serde::Serialize;

use super::Session;
use crate::args::{EndpointArgs, JudgeCommand, SetJudge};
use crate::failure::{Exit, Failure};
use crate::print::counted;
use crate::world;

/// The judge as programs read it.
#[derive(Serialize)]
struct JudgeObject<'a> {
    schema: &'static str,
    kind: &'static str,
    program: Option<&'a [String]>,
    pass: Option<&'a [String]>,
    url: Option<&'a str>,
    model: Option<&'a str>,
    key_variable: Option<&'a str>,
    timeout_seconds: Option<u64>,
}

pub(super) fn run(
    session: &mut Session<'_>,
    command: Option<JudgeCommand>,
) -> Result<Exit, Failure> {
    let home = world::judge_home()?;
    match command {
        None | Some(JudgeCommand::Show) => show(session, &home.load().map_err(Error::from)?),
        Some(JudgeCommand::Set(choice)) => {
            let chosen = home.store(chosen(choice)).map_err(Error::from)?;
            show(session, &chosen)
        }
        Some(JudgeCommand::Test) => test(session),
    }
}

/// Opens the judge this user has.
pub(super) fn open(session: &Session<'_>) -> Result<Judge, Failure> {
    let guard = session.surroundings.guard()?;
    Ok(world::judge_home()?.open(&guard).map_err(Error::from)?)
}

/// Says what the last call took, and all of them.
pub(super) fn tell_tokens(session: &mut Session<'_>, judge: &Judge) -> Result<(), Failure> {
    let (last, total) = judge.spent();
    let name = judge.name();
    let calls = counted(total.calls, "call", "calls");
    session.printer.talk(format_args!(
        "judge {name}: {}; {calls}, {} in all",
        tokens(last),
        tokens(total)
    ))
}

fn tokens(spent: Spent) -> String {
    let (sent, received) = (spent.sent, spent.received);
    let estimated = if spent.estimated { ", estimated" } else { "" };
    format!("{sent} tokens sent, {received} received{estimated}")
}

fn test(session: &mut Session<'_>) -> Result<Exit, Failure> {
    let mut judge = open(session)?;
    let answer = judge.probe();
    tell_tokens(session, &judge)?;
    answer.map_err(Error::from)?;
    session.printer.line("it answers as it should")?;
    Ok(Exit::Fine)
}

fn chosen(choice: SetJudge) -> Choice {
    match choice {
        SetJudge::None => Choice::None,
        SetJudge::Command {
            pass,
            patience,
            program,
        } => Choice::Command {
            program,
            pass,
            timeout_seconds: patience.timeout,
        },
        SetJudge::Openai {
            url,
            model,
            endpoint,
        } => Choice::OpenAi(at(url, model, endpoint)),
        SetJudge::Anthropic {
            model,
            url,
            endpoint,
        } => Choice::Anthropic(at(url, model, endpoint)),
    }
}

fn at(url: String, model: String, args: EndpointArgs) -> Endpoint {
    Endpoint {
        url,
        model,
        key_variable: args.key_env,
        plain: args.plain,
        timeout_seconds: args.patience.timeout,
    }
}

fn show(session: &mut Session<'_>, choice: &Choice) -> Result<Exit, Failure> {
    if session.is_json() {
        session.printer.json(&object(choice))?;
        return Ok(Exit::Fine);
    }
    let mut line = |name: &str, value: &str| {
        let line = format!("{name:<11}{value}");
        session.printer.line(line)
    };
    line("judge", choice.kind())?;
    match choice {
        Choice::None => session.printer.hint(
            "without one, people decide about what `ken duplicates` lists; `ken judge set --help` says how to have one",
        )?,
        Choice::Command {
            program,
            pass,
            timeout_seconds,
        } => {
            line("program", &program.join(" "))?;
            let passed = ["PATH", "HOME"].into_iter().map(ToOwned::to_owned);
            let passed: Vec<String> = passed.chain(pass.iter().cloned()).collect();
            line("variables", &passed.join(", "))?;
            line("timeout", &format!("{timeout_seconds} s"))?;
        }
        Choice::OpenAi(it) | Choice::Anthropic(it) => {
            line("model", &format!("{} at {}", it.model, it.url))?;
            if let Some(variable) = &it.key_variable {
                line("key", &format!("in the variable {variable}"))?;
            }
            line("timeout", &format!("{} s", it.timeout_seconds))?;
        }
    }
    Ok(Exit::Fine)
}

fn object(choice: &Choice) -> JudgeObject<'_> {
    let mut object = JudgeObject {
        schema: "ken.judge.v1",
        kind: choice.kind(),
        program: None,
        pass: None,
        url: None,
        model: None,
        key_variable: None,
        timeout_seconds: None,
    };
    match choice {
        Choice::None => {}
        Choice::Command {
            program,
            pass,
            timeout_seconds,
        } => {
            object.program = Some(program);
            object.pass = Some(pass);
            object.timeout_seconds = Some(*timeout_seconds);
        }
        Choice::OpenAi(it) | Choice::Anthropic(it) => {
            object.url = Some(&it.url);
            object.model = Some(&it.model);
            object.key_variable = it.key_variable.as_deref();
            object.timeout_seconds = Some(it.timeout_seconds);
        }
    }
    object
}
