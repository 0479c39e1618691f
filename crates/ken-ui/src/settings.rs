//! Settings of the person at the browser, kept in a cookie.
//!
//! They change how pages look and never what they say. Every value is one of a fixed list, so a
//! cookie cannot bring text into a page.

use axum::http::HeaderMap;

use crate::action::FormFields;
use crate::gate::cookies;

const COOKIE_NAME: &str = "ken_settings";

/// Colors of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    #[default]
    System,
    Light,
    Dark,
}

/// Editors that a link can open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Editor {
    VsCode,
    Cursor,
    Zed,
    Idea,
}

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UiSettings {
    pub(crate) theme: Theme,
    pub(crate) has_keys: bool,
    pub(crate) editor: Option<Editor>,
}

impl Default for UiSettings {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            has_keys: true,
            editor: None,
        }
    }
}

impl Theme {
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::System, "system"),
        (Self::Light, "light"),
        (Self::Dark, "dark"),
    ];
}

impl Editor {
    pub(crate) const ALL: [(Self, &'static str); 4] = [
        (Self::VsCode, "vscode"),
        (Self::Cursor, "cursor"),
        (Self::Zed, "zed"),
        (Self::Idea, "idea"),
    ];
}

impl UiSettings {
    /// Reads the cookie of a request.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let sent = cookies(headers).find(|(name, _)| *name == COOKIE_NAME);
        let mut settings = Self::default();
        for word in sent.map_or("", |(_, value)| value).split('.') {
            settings.apply(word);
        }
        settings
    }

    /// Reads the form of the settings page.
    pub(crate) fn from_form(form: &FormFields) -> Self {
        let mut settings = Self::default();
        for field in ["theme", "keys", "editor"] {
            settings.apply(form.text(field).unwrap_or_default());
        }
        settings
    }

    /// Returns the settings as JSON.
    pub(crate) fn document(self) -> serde_json::Value {
        serde_json::json!({
            "theme": self.theme_name(),
            "keys": self.has_keys,
            "editor": self.editor_name(),
        })
    }

    fn apply(&mut self, word: &str) {
        if let Some((theme, _)) = Theme::ALL.iter().find(|(_, name)| *name == word) {
            self.theme = *theme;
        }
        if let Some((editor, _)) = Editor::ALL.iter().find(|(_, name)| *name == word) {
            self.editor = Some(*editor);
        }
        if word == "nokeys" {
            self.has_keys = false;
        }
    }

    /// Returns the header that stores the settings for a year.
    pub(crate) fn set_cookie(self) -> String {
        let mut words = vec![self.theme_name()];
        words.extend(self.editor_name());
        if !self.has_keys {
            words.push("nokeys");
        }
        let value = words.join(".");
        format!("{COOKIE_NAME}={value}; HttpOnly; SameSite=Lax; Path=/; Max-Age=31536000")
    }

    pub(crate) fn theme_name(self) -> &'static str {
        let found = Theme::ALL.iter().find(|(it, _)| *it == self.theme);
        found.map_or("system", |(_, name)| name)
    }

    pub(crate) fn editor_name(self) -> Option<&'static str> {
        let editor = self.editor?;
        let found = Editor::ALL.iter().find(|(it, _)| *it == editor);
        found.map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use axum::http::header::COOKIE;

    use super::*;

    fn from_cookie(cookie: &str) -> UiSettings {
        let mut headers = HeaderMap::new();
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        headers.insert(COOKIE, HeaderValue::from_str(&cookie).expect("a header"));
        UiSettings::from_headers(&headers)
    }

    #[test]
    fn settings_survive_their_cookie() {
        let settings = UiSettings {
            theme: Theme::Dark,
            has_keys: false,
            editor: Some(Editor::Zed),
        };
        assert_eq!(from_cookie(&settings.set_cookie()), settings);
        assert_eq!(
            from_cookie("ken_settings=<script>.x"),
            UiSettings::default()
        );
    }
}
