"""The reason for which tests of the compiled engine are skipped."""

NOT_COMPILED = "the engine is not compiled here: install Rust's cargo and start ./tcplab again"
