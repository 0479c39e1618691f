//! Model folders that the transformer backend accepts, tested with a tiny generated model.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;

use ken_embed::{Embedder as _, FolderError, TransformerEmbedder};
use serde_json::{Value, json};
use tempfile::TempDir;

const WIDTH: usize = 4;
const INNER: usize = 6;
const POSITIONS: usize = 8;
const TOKENS: &[&str] = &["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##b"];

fn config_json() -> Value {
    json!({
        "model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": INNER, "max_position_embeddings": POSITIONS, "vocab_size": TOKENS.len(),
        "type_vocab_size": 1, "hidden_act": "gelu", "layer_norm_eps": 1e-12
    })
}

/// Returns every tensor of the model, filled with distinct numbers.
fn weights_file() -> Vec<u8> {
    let mut shapes: Vec<(String, Vec<usize>)> = Vec::new();
    for (name, rows) in [
        ("word", TOKENS.len()),
        ("position", POSITIONS),
        ("token_type", 1),
    ] {
        shapes.push((
            format!("embeddings.{name}_embeddings.weight"),
            vec![rows, WIDTH],
        ));
    }
    let layer = "encoder.layer.0";
    for (name, rows, columns) in [
        ("attention.self.query", WIDTH, WIDTH),
        ("attention.self.key", WIDTH, WIDTH),
        ("attention.self.value", WIDTH, WIDTH),
        ("attention.output.dense", WIDTH, WIDTH),
        ("intermediate.dense", INNER, WIDTH),
        ("output.dense", WIDTH, INNER),
    ] {
        shapes.push((format!("{layer}.{name}.weight"), vec![rows, columns]));
        shapes.push((format!("{layer}.{name}.bias"), vec![rows]));
    }
    let norms = [
        format!("{layer}.attention.output"),
        format!("{layer}.output"),
        "embeddings".into(),
    ];
    for (name, part) in norms.iter().flat_map(|it| [(it, "weight"), (it, "bias")]) {
        shapes.push((format!("{name}.LayerNorm.{part}"), vec![WIDTH]));
    }
    let (mut header, mut numbers) = (serde_json::Map::new(), Vec::new());
    for (name, shape) in shapes {
        let start = numbers.len();
        for index in 0..shape.iter().product() {
            let number = ((start + 7 * index) as f32).sin();
            numbers.extend(number.to_le_bytes());
        }
        let offsets = [start, numbers.len()];
        header.insert(
            name,
            json!({"dtype": "F32", "shape": shape, "data_offsets": offsets}),
        );
    }
    let header = Value::Object(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), &numbers].concat()
}

fn model_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), "config.json", config_json().to_string());
    write_file(folder.path(), "vocab.txt", TOKENS.join("\n"));
    write_file(folder.path(), "model.safetensors", weights_file());
    folder
}

fn write_file(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn open_error(folder: &Path) -> String {
    TransformerEmbedder::open(folder).unwrap_err().to_string()
}

#[test]
fn a_small_folder_gives_vectors_of_its_dimension_and_length_one() {
    let model = TransformerEmbedder::open(model_folder().path()).unwrap();
    assert_eq!(model.model().dimension, WIDTH);
    for vector in model
        .floats(&["", "a", "ab ab ab ab ab ab ab ab", "?"])
        .unwrap()
    {
        let length: f32 = vector.iter().map(|it| it * it).sum();
        assert!((length - 1.0).abs() < 1e-5, "{vector:?}");
    }
}

#[test]
fn text_past_the_limit_of_tokens_is_not_looked_at() {
    let model = TransformerEmbedder::open(model_folder().path()).unwrap();
    let full = "a ".repeat(POSITIONS - 2);
    let vectors = model.embed(&[&full, &format!("{full} ab"), "a a"]).unwrap();
    assert_eq!(vectors[0], vectors[1]);
    assert_ne!(vectors[0], vectors[2]);
}

#[test]
fn the_vocabulary_may_be_in_the_tokenizer_file() {
    let folder = model_folder();
    let before = TransformerEmbedder::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join("vocab.txt")).unwrap();
    let tokens: Value = TOKENS
        .iter()
        .zip(0..)
        .map(|(token, id)| (*token, id))
        .collect();
    let file = json!({"model": {"type": "WordPiece", "vocab": tokens}});
    write_file(folder.path(), "tokenizer.json", file.to_string());
    let after = TransformerEmbedder::open(folder.path()).unwrap();
    assert_eq!(before.model().id, after.model().id);
}

#[test]
fn whatever_changes_the_vectors_changes_the_id() {
    let folder = model_folder();
    let id = || {
        TransformerEmbedder::open(folder.path())
            .unwrap()
            .model()
            .id
            .to_string()
    };
    let mut ids = vec![id()];
    write_file(
        folder.path(),
        "sentence_bert_config.json",
        r#"{"max_seq_length": 5}"#,
    );
    ids.push(id());
    let first = r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#;
    write_file(folder.path(), "1_Pooling/config.json", first);
    ids.push(id());
    write_file(
        folder.path(),
        "vocab.txt",
        TOKENS.join("\n").replace("\na\n", "\nc\n"),
    );
    ids.push(id());
    let mut other = weights_file();
    *other.last_mut().unwrap() ^= 1;
    write_file(folder.path(), "model.safetensors", other);
    ids.push(id());
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn what_cannot_be_run_is_refused_by_name() {
    let folder = model_folder();
    for (key, value, part) in [
        ("model_type", json!("mpnet"), "mpnet"),
        ("hidden_act", json!("relu"), "relu"),
        ("position_embedding_type", json!("relative_key"), "absolute"),
        ("num_attention_heads", json!(3), "heads"),
        ("num_attention_heads", json!(0), "heads"),
        ("num_hidden_layers", json!(1000), "layers"),
        ("num_hidden_layers", json!(2), "missing"),
        ("hidden_size", json!(WIDTH * 2), "shape"),
        ("max_position_embeddings", json!(2), "2 tokens"),
        ("vocab_size", json!(TOKENS.len() - 1), "vocabulary"),
    ] {
        let mut config = config_json();
        config[key] = value;
        write_file(folder.path(), "config.json", config.to_string());
        let refusal = open_error(folder.path());
        assert!(refusal.contains(part), "{key}: {refusal}");
    }
}

#[test]
fn other_poolings_and_cased_vocabularies_are_refused() {
    let pooled = model_folder();
    let most = r#"{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}"#;
    write_file(pooled.path(), "1_Pooling/config.json", most);
    assert!(open_error(pooled.path()).contains("pooling"));
    let cased = model_folder();
    write_file(
        cased.path(),
        "tokenizer_config.json",
        r#"{"do_lower_case": false}"#,
    );
    assert!(open_error(cased.path()).contains("case-sensitive"));
}

#[test]
fn files_that_lack_or_are_damaged_are_named() {
    for name in ["config.json", "model.safetensors"] {
        let folder = model_folder();
        fs::remove_file(folder.path().join(name)).unwrap();
        assert!(open_error(folder.path()).contains(name), "{name}");
    }
    let folder = model_folder();
    let whole = weights_file();
    write_file(
        folder.path(),
        "model.safetensors",
        &whole[..whole.len() - 4],
    );
    let error = TransformerEmbedder::open(folder.path()).unwrap_err();
    assert!(matches!(error, FolderError::Weights { .. }), "{error}");
}

/// Sets the modification time of the weights to the distant past.
fn age_weights(folder: &Path) {
    let weights = fs::File::options()
        .write(true)
        .open(folder.join("model.safetensors"));
    weights
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
}

#[test]
fn a_digest_is_remembered_only_of_weights_that_are_as_they_were() {
    let folder = model_folder();
    let path = folder.path();
    assert!(TransformerEmbedder::open(path).unwrap().known().is_none());
    age_weights(path);
    let opened = TransformerEmbedder::open(path).unwrap();
    let known = opened.known().unwrap().clone();
    // An accepted wrong digest shows that nothing was hashed.
    let mut other = known.clone();
    other.digest = "0".repeat(64);
    let believed = TransformerEmbedder::open_with_digest(path, Some(&other)).unwrap();
    assert!(believed.model().id.ends_with("/0000000000000000"));
    let id = |known| {
        TransformerEmbedder::open_with_digest(path, Some(known))
            .unwrap()
            .model()
            .id
            .clone()
    };
    assert_eq!(id(&known), opened.model().id);
    other.digest = "no digest".to_owned();
    assert_eq!(id(&other), opened.model().id);
    // Same size and modification time, other numbers: only the inode change time differs.
    let mut weights = fs::read(path.join("model.safetensors")).unwrap();
    *weights.last_mut().unwrap() ^= 1;
    write_file(path, "model.safetensors", weights);
    age_weights(path);
    #[cfg(unix)]
    assert_ne!(id(&known), opened.model().id);
    // Another vocabulary changes the id too.
    write_file(path, "vocab.txt", TOKENS.join("\n").replace("##b", "##c"));
    assert_ne!(id(&known), opened.model().id);
}

#[test]
fn weights_that_change_under_way_give_no_vector() {
    let folder = model_folder();
    let model = TransformerEmbedder::open(folder.path()).unwrap();
    assert!(model.embed(&["a"]).is_ok());
    let path = folder.path().join("model.safetensors");
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(10).unwrap();
    assert_eq!(model.embed(&["a"]), Err(ken_embed::EmbedError::Changed));
}

#[test]
fn a_module_nobody_runs_is_refused_by_name() {
    let folder = model_folder();
    let modules = json!([{"type": "sentence_transformers.models.Transformer"},
        {"type": "sentence_transformers.models.Dense"}]);
    write_file(folder.path(), "modules.json", modules.to_string());
    let error = TransformerEmbedder::open(folder.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("`Dense`"), "{error}");
}
