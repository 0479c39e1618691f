//! What is said to an endpoint and what it answers.

use serde::{Deserialize, Serialize};

use super::Dialect;

/// Both dialects ask alike.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiItem>,
}

#[derive(Deserialize)]
struct OpenAiItem {
    index: usize,
    embedding: Vec<f64>,
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f64>>,
}

pub(super) fn request(model: &str, texts: &[&str]) -> Vec<u8> {
    let input = texts;
    serde_json::to_vec(&Request { model, input }).expect("strings always become JSON")
}

/// Returns the vectors in the order of the texts, or `None` if the answer is not `count` vectors.
pub(super) fn parse(dialect: Dialect, body: &[u8], count: usize) -> Option<Vec<Vec<f64>>> {
    let vectors = match dialect {
        Dialect::OpenAi => {
            let mut answer: OpenAiAnswer = serde_json::from_slice(body).ok()?;
            answer.data.sort_by_key(|it| it.index);
            let are_numbered = answer.data.iter().map(|it| it.index).eq(0..count);
            let vectors = answer.data.into_iter().map(|it| it.embedding);
            are_numbered.then(|| vectors.collect::<Vec<_>>())?
        }
        Dialect::Ollama => {
            let answer: OllamaAnswer = serde_json::from_slice(body).ok()?;
            answer.embeddings
        }
    };
    (vectors.len() == count).then_some(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        let wanted = Some(vec![vec![1.0], vec![2.0]]);
        assert_eq!(parse(Dialect::OpenAi, body, 2), wanted);
        let body = br#"{"model":"m","embeddings":[[1],[2]]}"#;
        assert_eq!(parse(Dialect::Ollama, body, 2), wanted);
    }

    #[test]
    fn an_answer_that_is_not_one_vector_a_text_is_none() {
        let twice = br#"{"data":[{"index":0,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(parse(Dialect::OpenAi, twice, 2), None);
        for body in [
            &b"{}"[..],
            b"",
            br#"{"embeddings":[[1]]}"#,
            br#"{"embeddings":[["a"]]}"#,
        ] {
            assert_eq!(parse(Dialect::Ollama, body, 2), None);
            assert_eq!(parse(Dialect::OpenAi, body, 2), None);
        }
    }
}
