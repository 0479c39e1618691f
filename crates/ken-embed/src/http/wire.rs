//! Request and response formats of embedding endpoints.

use serde::{Deserialize, Serialize};

use super::EndpointDialect;

/// Request body of both dialects.
#[derive(Serialize)]
struct EmbedRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct OpenAiEmbedResponse {
    data: Vec<OpenAiEmbedItem>,
}

#[derive(Deserialize)]
struct OpenAiEmbedItem {
    index: usize,
    embedding: Vec<f64>,
}

#[derive(Deserialize)]
struct OllamaEmbedResponse {
    embeddings: Vec<Vec<f64>>,
}

pub(super) fn encode_request(model: &str, texts: &[&str]) -> Vec<u8> {
    let input = texts;
    serde_json::to_vec(&EmbedRequest { model, input }).expect("strings always become JSON")
}

/// Returns the vectors in the order of the texts, or `None` if the response is not `count` vectors.
pub(super) fn parse_response(
    dialect: EndpointDialect,
    body: &[u8],
    count: usize,
) -> Option<Vec<Vec<f64>>> {
    let vectors = match dialect {
        EndpointDialect::OpenAi => {
            let mut answer: OpenAiEmbedResponse = serde_json::from_slice(body).ok()?;
            answer.data.sort_by_key(|item| item.index);
            // Duplicate or missing indexes would assign vectors to the wrong texts.
            let are_numbered = answer.data.iter().map(|item| item.index).eq(0..count);
            let vectors = answer.data.into_iter().map(|item| item.embedding);
            are_numbered.then(|| vectors.collect::<Vec<_>>())?
        }
        EndpointDialect::Ollama => {
            let answer: OllamaEmbedResponse = serde_json::from_slice(body).ok()?;
            answer.embeddings
        }
    };
    // Ollama sends no indexes, so the count is the only check.
    (vectors.len() == count).then_some(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        let wanted = Some(vec![vec![1.0], vec![2.0]]);
        assert_eq!(parse_response(EndpointDialect::OpenAi, body, 2), wanted);
        let body = br#"{"model":"m","embeddings":[[1],[2]]}"#;
        assert_eq!(parse_response(EndpointDialect::Ollama, body, 2), wanted);
    }

    #[test]
    fn an_answer_that_is_not_one_vector_a_text_is_none() {
        let twice = br#"{"data":[{"index":0,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        assert_eq!(parse_response(EndpointDialect::OpenAi, twice, 2), None);
        for body in [
            &b"{}"[..],
            b"",
            br#"{"embeddings":[[1]]}"#,
            br#"{"embeddings":[["a"]]}"#,
        ] {
            assert_eq!(parse_response(EndpointDialect::Ollama, body, 2), None);
            assert_eq!(parse_response(EndpointDialect::OpenAi, body, 2), None);
        }
    }
}
