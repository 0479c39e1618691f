//! Porter stemmer: "retries", "retried" and "retrying" share one stem in a search.
//!
//! Implements M. F. Porter's algorithm of 1980, which the full-text index of a repository also
//! uses, so both find the same entries. Only words of lowercase ASCII letters are stemmed; other
//! words and names with digits stay unchanged.

/// Step 2: suffixes and their replacements, applied if the measure of the remaining stem is
/// positive.
const STEP_2: [(&str, &str); 20] = [
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("eli", "e"),
];

/// Step 3: suffixes and their replacements, under the same condition.
const STEP_3: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

/// Step 4: suffixes that are removed if the measure of the remaining stem exceeds 1. `ement`
/// precedes `ment` and `ent`, because the first match decides.
const STEP_4: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
];

/// Shorter words are not stemmed.
const CHARS_MIN: usize = 3;

/// Returns the stem of a lowercase word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < CHARS_MIN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = StemmedWord(word.to_owned());
    word.strip_plural();
    word.strip_past_and_progressive();
    word.replace_final_y();
    word.replace(&STEP_2);
    word.replace(&STEP_3);
    word.strip_suffix();
    word.strip_final_e();
    word.0
}

struct StemmedWord(String);

impl StemmedWord {
    /// Returns the part before a suffix.
    fn before(&self, ending: &str) -> Option<&str> {
        self.0.strip_suffix(ending)
    }

    fn replace_ending(&mut self, length: usize, ending: &str) {
        self.0.truncate(length);
        self.0.push_str(ending);
    }

    fn strip_plural(&mut self) {
        // `ss` maps to itself, so that the last rule does not cut "caress" to "cares".
        for (ending, becomes) in [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")] {
            if let Some(length) = self.before(ending).map(str::len) {
                return self.replace_ending(length, becomes);
            }
        }
    }

    fn strip_past_and_progressive(&mut self) {
        if let Some(rest) = self.before("eed") {
            let length = rest.len();
            if measure(rest) > 0 {
                self.replace_ending(length, "ee");
            }
            // The rule for `ed` must not apply, even if this one left the word unchanged ("feed").
            return;
        }
        let rest = self.before("ed").or_else(|| self.before("ing"));
        let Some(length) = rest.filter(|rest| has_vowel(rest)).map(str::len) else {
            return;
        };
        self.0.truncate(length);
        // Restores the `e` or drops the doubled consonant that the ending had changed:
        // "conflat(ed)", "hopp(ing)".
        let ends = |endings: &[&str]| endings.iter().any(|it| self.0.ends_with(it));
        if ends(&["at", "bl", "iz"]) {
            self.0.push('e');
        } else if is_doubled(&self.0) && !ends(&["l", "s", "z"]) {
            self.0.pop();
        } else if measure(&self.0) == 1 && is_short(&self.0) {
            self.0.push('e');
        }
    }

    fn replace_final_y(&mut self) {
        if let Some(length) = self
            .before("y")
            .filter(|rest| has_vowel(rest))
            .map(str::len)
        {
            self.replace_ending(length, "i");
        }
    }

    fn replace(&mut self, endings: &[(&str, &str)]) {
        let found = endings
            .iter()
            .find_map(|(ending, becomes)| Some((self.before(ending)?, becomes)));
        if let Some((rest, becomes)) = found {
            let length = rest.len();
            if measure(rest) > 0 {
                self.replace_ending(length, becomes);
            }
        }
    }

    fn strip_suffix(&mut self) {
        let found = STEP_4
            .iter()
            .find_map(|ending| Some((self.before(ending)?, *ending)));
        if let Some((rest, ending)) = found {
            // Porter removes `ion` only after `s` or `t` ("adoption", but not "champion").
            let is_allowed = ending != "ion" || rest.ends_with(['s', 't']);
            let length = rest.len();
            if is_allowed && measure(rest) > 1 {
                self.0.truncate(length);
            }
        }
    }

    fn strip_final_e(&mut self) {
        if let Some(rest) = self.before("e") {
            let (measure, length) = (measure(rest), rest.len());
            if measure > 1 || (measure == 1 && !is_short(rest)) {
                self.0.truncate(length);
            }
        }
        if self.0.ends_with("ll") && measure(&self.0) > 1 {
            self.0.pop();
        }
    }
}

/// Returns for each letter whether it is a consonant. `y` is one at the start and after a vowel.
fn consonants(text: &str) -> impl Iterator<Item = bool> + '_ {
    let mut before = false;
    text.bytes().map(move |byte| {
        before = match byte {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => !before,
            _ => true,
        };
        before
    })
}

/// Returns Porter's measure: the number of vowel-consonant sequences.
fn measure(text: &str) -> usize {
    let (mut count, mut vowel) = (0, false);
    for consonant in consonants(text) {
        if consonant && vowel {
            count += 1;
        }
        vowel = !consonant;
    }
    count
}

fn has_vowel(text: &str) -> bool {
    consonants(text).any(|consonant| !consonant)
}

/// Returns whether a text ends in a double consonant.
fn is_doubled(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [.., a, b] = bytes else {
        return false;
    };
    a == b && consonants(text).last() == Some(true)
}

/// Returns whether a text ends in consonant, vowel, consonant, where the last is not w, x or y.
fn is_short(text: &str) -> bool {
    let kinds: Vec<bool> = consonants(text).collect();
    kinds.ends_with(&[true, false, true]) && !text.ends_with(['w', 'x', 'y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_stems_the_rules_give() {
        for pair in "caresses caress, ponies poni, ties ti, caress caress, cats cat, feed feed, agreed agre, \
             plastered plaster, bled bled, motoring motor, sing sing, conflated conflat, troubled troubl, sized size, \
             hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, failing fail, filing file, happy happi, \
             sky sky, relational relat, conditional condit, rational ration, digitizer digit, operator oper, \
             feudalism feudal, decisiveness decis, hopefulness hope, callousness callous, formality formal, \
             sensitivity sensit, sensibility sensibl, triplicate triplic, formative form, formalize formal, \
             electrical electr, hopeful hope, goodness good, revival reviv, allowance allow, inference infer, \
             airliner airlin, adjustable adjust, defensible defens, irritant irrit, replacement replac, \
             adjustment adjust, dependent depend, adoption adopt, communism commun, activate activ, effective effect, \
             probate probat, rate rate, cease ceas, controlling control, rolls roll, retries retri, retrying retri, \
             is is, as as, a a, utf8s utf8s, größen größen, 缓 缓"
            .split(", ")
        {
            let (word, wanted) = pair.trim().split_once(' ').expect("two words");
            assert_eq!(stem(word), wanted, "{word}");
        }
    }
}
