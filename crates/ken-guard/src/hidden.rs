//! Invisible characters: their classes and the contexts in which they are legitimate.
//!
//! A joiner inside an emoji or a Persian word is spelling; the same joiner inside an ASCII word
//! hides something. The context check looks only at neighboring characters and is deliberately
//! coarse: an exempted character is never adjacent to token characters, so an exemption cannot hide
//! a split secret. Emoji flags of subdivisions (England, Scotland, Wales) use tag characters and
//! get no exemption.
//!
//! Invariant: every default-ignorable code point of Unicode has a class (tested).

/// Class of an invisible character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenClass {
    /// Changes the display order: the displayed text differs from the stored text.
    Bidi,
    /// The Unicode tag block, an invisible copy of ASCII.
    Tag,
    /// A control character other than tab, line feed and carriage return.
    Control,
    /// Any other character without a glyph: zero-width, fillers, variation selectors, soft hyphen.
    ZeroWidth,
}

impl HiddenClass {
    /// Returns the rule id of a stray character of this class.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Bidi => "hidden-bidi",
            Self::Tag => "hidden-tag",
            Self::Control => "hidden-control",
            Self::ZeroWidth => "hidden-zero-width",
        }
    }

    /// Returns the kind that findings name for a stray character of this class.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Bidi => "bidi-control",
            Self::Tag => "tag-character",
            Self::Control => "control-character",
            Self::ZeroWidth => "invisible-character",
        }
    }
}

/// Neighbors of a hidden character in the raw text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CharContext {
    pub(crate) previous: Option<char>,
    pub(crate) next: Option<char>,
    /// `Mixed` if a right-to-left letter occurs anywhere in the field.
    pub(crate) direction: TextDirection,
}

/// Writing direction of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextDirection {
    LeftToRight,
    Mixed,
}

/// Returns the class of an invisible character, `None` for a visible one.
pub(crate) fn hidden_class(c: char) -> Option<HiddenClass> {
    match c {
        // The common case, decided first.
        '\t' | '\n' | '\r' | ' '..='~' => None,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some(HiddenClass::Control),
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(HiddenClass::Bidi)
        }
        '\u{e0000}'..='\u{e007f}' => Some(HiddenClass::Tag),
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
        | '\u{e0080}'..='\u{e0fff}' => Some(HiddenClass::ZeroWidth),
        _ => None,
    }
}

/// Returns whether a hidden character is legitimate spelling at its position.
pub(crate) fn is_legitimate(c: char, around: CharContext) -> bool {
    // Every legitimate use modifies the preceding character.
    let Some(previous) = around.previous else {
        return false;
    };
    match c {
        // Zero-width joiner and non-joiner.
        '\u{200c}' | '\u{200d}' => {
            let joins_script = needs_joiners(previous) && around.next.is_none_or(is_visible);
            // A selector may separate a pictograph from its joiner.
            let joins_emoji = c == '\u{200d}'
                && (is_pictograph(previous) || previous == '\u{fe0f}')
                && around.next.is_some_and(is_pictograph);
            joins_script || joins_emoji
        }
        // Left-to-right, right-to-left and Arabic letter mark.
        '\u{200e}' | '\u{200f}' | '\u{61c}' => {
            around.direction == TextDirection::Mixed && is_visible(previous)
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
    hidden_class(c).is_none()
}

/// Returns whether a letter belongs to Hebrew, Arabic or related scripts, or to a script of South
/// or South-East Asia.
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
            assert!(
                hidden_class(c).is_some(),
                "U+{:04X} has no class",
                u32::from(c)
            );
            seen += 1;
        }
        assert!(seen > 4000, "the property was not read: {seen}");
    }

    #[test]
    fn letters_digits_and_line_breaks_are_visible() {
        for c in "azAZ09 \t\r\n.,;äßéλЖ漢字カナ한글😀—“”…\u{a0}".chars() {
            assert_eq!(hidden_class(c), None, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn no_exemption_reaches_between_ascii_letters() {
        let around = CharContext {
            previous: Some('a'),
            next: Some('b'),
            direction: TextDirection::LeftToRight,
        };
        for c in ('\0'..=char::MAX).filter(|c| hidden_class(*c).is_some()) {
            assert!(!is_legitimate(c, around), "U+{:04X}", u32::from(c));
        }
    }
}
