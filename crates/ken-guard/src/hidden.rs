//! Knows which characters no reader sees, and where a few of them are at home.
//!
//! A joiner inside an emoji or a Persian word is spelling; the same joiner inside an ASCII word hides
//! something. The home rule looks at the neighbours only and is deliberately coarse: no exempted
//! character may touch what a token is made of, so an exemption never hides a split secret.
//! Emoji flags of subdivisions (England, Scotland, Wales) are spelt with tag characters and get no
//! exemption.
//!
//! Invariant: every code point that Unicode calls default-ignorable has a class (tested).

/// Why a character is invisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Changes the order in which text is shown: what is read is not what is stored.
    Bidi,
    /// The Unicode tag block, which mirrors ASCII invisibly.
    Tag,
    /// A control character other than tab, line feed and carriage return.
    Control,
    /// Any other character without a glyph: zero-width, fillers, variation selectors, soft hyphen.
    ZeroWidth,
}

impl Hidden {
    /// Returns the rule id of a stray character of this class.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Bidi => "hidden-bidi",
            Self::Tag => "hidden-tag",
            Self::Control => "hidden-control",
            Self::ZeroWidth => "hidden-zero-width",
        }
    }

    /// Returns what the refusal calls a stray character of this class.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Bidi => "bidi-control",
            Self::Tag => "tag-character",
            Self::Control => "control-character",
            Self::ZeroWidth => "invisible-character",
        }
    }
}

/// The surroundings of a hidden character, as the raw text has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) previous: Option<char>,
    pub(crate) next: Option<char>,
    /// Whether a right-to-left letter occurs anywhere in the field.
    pub(crate) direction: Direction,
}

/// Which way the letters of a field run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    LeftToRight,
    Mixed,
}

/// Returns the class of an invisible character, or nothing for one that can be seen.
pub(crate) fn class_of(c: char) -> Option<Hidden> {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' => None,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some(Hidden::Control),
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Hidden::Bidi)
        }
        '\u{e0000}'..='\u{e007f}' => Some(Hidden::Tag),
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e0fff}' => Some(Hidden::ZeroWidth),
        _ => None,
    }
}

/// Returns whether a hidden character spells something visible where it stands.
pub(crate) fn is_at_home(c: char, around: Surroundings) -> bool {
    let Some(previous) = around.previous else {
        return false;
    };
    match c {
        // Zero-width joiner and non-joiner.
        '\u{200c}' | '\u{200d}' => {
            let joins_script = needs_joiners(previous) && around.next.is_none_or(is_visible);
            let joins_emoji = c == '\u{200d}'
                && (is_pictograph(previous) || previous == '\u{fe0f}')
                && around.next.is_some_and(is_pictograph);
            joins_script || joins_emoji
        }
        // Left-to-right, right-to-left and Arabic letter mark.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            around.direction == Direction::Mixed && is_visible(previous)
        }
        // Emoji or text presentation; a keycap is a digit, this selector and a combining square.
        '\u{fe00}'..='\u{fe0f}' => {
            let keycap =
                matches!(previous, '0'..='9' | '#' | '*') && around.next == Some('\u{20e3}');
            is_pictograph(previous) || is_ideograph(previous) || keycap
        }
        '\u{e0100}'..='\u{e01ef}' => is_ideograph(previous),
        // Mongolian vowel separator and variation selectors.
        '\u{180b}'..='\u{180f}' => matches!(previous, '\u{1820}'..='\u{18aa}'),
        _ => false,
    }
}

/// Returns whether a letter is written from right to left.
pub(crate) fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{5d0}'..='\u{604}' | '\u{620}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        || matches!(c, '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

fn is_visible(c: char) -> bool {
    class_of(c).is_none()
}

/// Hebrew, Arabic and their neighbours, and the scripts of South and South-East Asia.
fn needs_joiners(c: char) -> bool {
    let in_block = matches!(c, '\u{590}'..='\u{109f}' | '\u{1700}'..='\u{18aa}' | '\u{1900}'..='\u{1cff}')
        || matches!(c, '\u{a800}'..='\u{abff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        || matches!(c, '\u{10a00}'..='\u{11fff}');
    in_block && is_visible(c)
}

fn is_pictograph(c: char) -> bool {
    matches!(
        c,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙'
    ) || matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn every_default_ignorable_code_point_has_a_class() {
        let ignorable = Regex::new(r"^\p{Default_Ignorable_Code_Point}$").unwrap();
        let mut seen = 0;
        for c in ('\0'..=char::MAX).filter(|c| ignorable.is_match(c.encode_utf8(&mut [0; 4]))) {
            assert!(class_of(c).is_some(), "U+{:04X} has no class", u32::from(c));
            seen += 1;
        }
        assert!(4000 < seen, "the property was not read: {seen}");
    }

    #[test]
    fn letters_digits_and_line_breaks_are_visible() {
        for c in "azAZ09 \t\r\n.,;äßéλЖ漢字カナ한글😀—“”…\u{a0}".chars() {
            assert_eq!(class_of(c), None, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn no_exemption_reaches_between_ascii_letters() {
        let around = Surroundings {
            previous: Some('a'),
            next: Some('b'),
            direction: Direction::LeftToRight,
        };
        for c in ('\0'..=char::MAX).filter(|c| class_of(*c).is_some()) {
            assert!(!is_at_home(c, around), "U+{:04X}", u32::from(c));
        }
    }
}
