//! Planted contradictions: templates, used in turn, negate each norm.

/// Templates that forbid an action a norm asks for.
const FORBIDDING: [&str; 6] = [
    "Never {}",
    "Do not {}",
    "Don't {}",
    "You must not {}",
    "We should never {}",
    "It is forbidden to {}",
];

/// Templates that ask for an action a norm forbids.
const REQUESTING: [&str; 4] = ["Always {}", "You should {}", "Please {}", "We {}"];

/// Words after which a statement is negated.
const VERBS: [&str; 7] = [
    " must ", " are ", " is ", " may ", " have ", " has ", " need ",
];

/// Returns each norm paired with a contradiction of it, where a template fits.
pub(crate) fn plant_contradictions(norms: &str) -> Vec<(String, String)> {
    let norms = norms.lines().enumerate();
    let turned =
        norms.filter_map(|(place, norm)| Some((norm.to_owned(), negate_norm(norm, place)?)));
    turned.collect()
}

fn negate_norm(norm: &str, place: usize) -> Option<String> {
    let asked =
        |rest: &str| REQUESTING[place % REQUESTING.len()].replace("{}", &lowercase_first(rest));
    for denial in ["Never ", "Do not "] {
        if let Some(rest) = norm.strip_prefix(denial) {
            return Some(asked(rest));
        }
    }
    if let Some(rest) = norm.strip_prefix("Avoid ") {
        return Some(format!("Prefer {rest}"));
    }
    if let Some((chosen, left)) = norm
        .strip_prefix("Prefer ")
        .and_then(|it| it.split_once(" over "))
    {
        return Some(format!("Prefer {left} over {chosen}"));
    }
    if let Some(number) = change_number(norm).filter(|_| place.is_multiple_of(2)) {
        return Some(number);
    }
    for verb in VERBS {
        if let Some((before, behind)) = norm.split_once(verb) {
            return Some(match behind.strip_prefix("not ") {
                Some(behind) => format!("{before}{verb}{behind}"),
                None if matches!(verb, " have " | " has " | " need ") => {
                    format!("{before}{verb}no {behind}")
                }
                None => format!("{before}{verb}not {behind}"),
            });
        }
    }
    let is_plain = !norm.contains(" not ") && !norm.contains(" never ") && !norm.contains(" no ");
    is_plain.then(|| FORBIDDING[place % FORBIDDING.len()].replace("{}", &lowercase_first(norm)))
}

fn change_number(norm: &str) -> Option<String> {
    let number = norm
        .split(' ')
        .find(|it| it.chars().all(|c| c.is_ascii_digit()))?;
    let other = number.parse::<u64>().ok()? * 2 + 1;
    Some(norm.replacen(number, &other.to_string(), 1))
}

fn lowercase_first(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_lowercase())
}
