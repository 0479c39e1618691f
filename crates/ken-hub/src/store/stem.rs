//! Words by their stems: "retries", "retried" and "retrying" are one word to a search.
//!
//! M. F. Porter's rules of 1980, which the full-text index of a repository follows too, so that both find the same. Only
//! words of plain English letters are cut; others, and names with digits in them, stay what they are.

/// What a word may end in, what takes its place, and how much of the word must be left: step 2.
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

const STEP_3: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

/// Endings that go where enough is left; the longest first.
const STEP_4: [&str; 19] = [
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
];

/// Shorter words have no ending.
const CHARS_MIN: usize = 3;

/// Returns the stem of a lowercase word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < CHARS_MIN || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut word = Word(word.to_owned());
    word.plural();
    word.past_and_progressive();
    word.final_y();
    word.replace(&STEP_2);
    word.replace(&STEP_3);
    word.cut();
    word.final_e();
    word.0
}

struct Word(String);

impl Word {
    /// Returns what stands before an ending.
    fn before(&self, ending: &str) -> Option<&str> {
        self.0.strip_suffix(ending)
    }

    fn become_stem(&mut self, length: usize, ending: &str) {
        self.0.truncate(length);
        self.0.push_str(ending);
    }

    fn plural(&mut self) {
        for (ending, becomes) in [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")] {
            if let Some(length) = self.before(ending).map(str::len) {
                return self.become_stem(length, becomes);
            }
        }
    }

    fn past_and_progressive(&mut self) {
        if let Some(rest) = self.before("eed") {
            let length = rest.len();
            if 0 < measure(rest) {
                self.become_stem(length, "ee");
            }
            return;
        }
        let rest = self.before("ed").or_else(|| self.before("ing"));
        let Some(length) = rest.filter(|rest| has_vowel(rest)).map(str::len) else {
            return;
        };
        self.0.truncate(length);
        let ends = |endings: &[&str]| endings.iter().any(|it| self.0.ends_with(it));
        if ends(&["at", "bl", "iz"]) {
            self.0.push('e');
        } else if is_doubled(&self.0) && !ends(&["l", "s", "z"]) {
            self.0.pop();
        } else if measure(&self.0) == 1 && is_short(&self.0) {
            self.0.push('e');
        }
    }

    fn final_y(&mut self) {
        if let Some(length) = self
            .before("y")
            .filter(|rest| has_vowel(rest))
            .map(str::len)
        {
            self.become_stem(length, "i");
        }
    }

    fn replace(&mut self, endings: &[(&str, &str)]) {
        let found = endings
            .iter()
            .find_map(|(ending, becomes)| Some((self.before(ending)?, becomes)));
        if let Some((rest, becomes)) = found {
            let length = rest.len();
            if 0 < measure(rest) {
                self.become_stem(length, becomes);
            }
        }
    }

    fn cut(&mut self) {
        let found = STEP_4
            .iter()
            .find_map(|ending| Some((self.before(ending)?, *ending)));
        if let Some((rest, ending)) = found {
            let may = ending != "ion" || rest.ends_with(['s', 't']);
            let length = rest.len();
            if may && 1 < measure(rest) {
                self.0.truncate(length);
            }
        }
    }

    fn final_e(&mut self) {
        if let Some(rest) = self.before("e") {
            let (measure, length) = (measure(rest), rest.len());
            if 1 < measure || (measure == 1 && !is_short(rest)) {
                self.0.truncate(length);
            }
        }
        if self.0.ends_with("ll") && 1 < measure(&self.0) {
            self.0.pop();
        }
    }
}

/// Returns whether each letter is a consonant; a `y` is one at the beginning and behind a vowel.
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

/// Returns how often consonants follow vowels.
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

/// Returns whether a text ends in the same consonant twice.
fn is_doubled(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [.., a, b] = bytes else {
        return false;
    };
    a == b && consonants(text).last() == Some(true)
}

/// Returns whether a text ends in consonant, vowel, consonant, the last none of w, x and y.
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
