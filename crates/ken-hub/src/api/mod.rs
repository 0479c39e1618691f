//! REST under `/v1`: routes, their description as OpenAPI 3.1, problems.
