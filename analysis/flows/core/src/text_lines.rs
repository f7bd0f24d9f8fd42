//! Columns as lines of CSV (RFC 4180, lines ended by LF), numbers as Python writes them.

use std::fmt::Write;

/// Numbers from here on, and smaller than the other, have an exponent in Python's `repr`.
const LARGE: f64 = 1e16;
const SMALL: f64 = 1e-4;

/// A column's values, of which one may stand for all, and a byte for each (or for all) that is 0 if
/// the value is missing; without bytes none is.
pub struct TextColumn {
    pub cells: TextCells,
    pub valid: Vec<u8>,
}

pub enum TextCells {
    Unsigned(Vec<u64>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

impl TextColumn {
    fn height(&self) -> usize {
        let cells = match &self.cells {
            TextCells::Unsigned(cells) => cells.len(),
            TextCells::Integer(cells) => cells.len(),
            TextCells::Float(cells) => cells.len(),
            TextCells::Text(cells) => cells.len(),
        };
        cells.max(self.valid.len())
    }

    /// The text of all rows if one value stands for them, as in most columns of most captures.
    fn alike(&self) -> Option<String> {
        (self.height() == 1).then(|| {
            let mut text = String::new();
            self.write(0, &mut text);
            text
        })
    }

    fn write(&self, row: usize, out: &mut String) {
        if shared(&self.valid, row) == Some(&0) {
            return;
        }
        // Nothing can go wrong when text is written to a string.
        let _ = match &self.cells {
            TextCells::Unsigned(cells) => shared(cells, row).map(|cell| write!(out, "{cell}")),
            TextCells::Integer(cells) => shared(cells, row).map(|cell| write!(out, "{cell}")),
            TextCells::Float(cells) => shared(cells, row).map(|cell| float(*cell, out)),
            TextCells::Text(cells) => shared(cells, row).map(|cell| quoted(cell, out)),
        };
    }
}

/// The value of a row, or the one that stands for all.
fn shared<T>(values: &[T], row: usize) -> Option<&T> {
    match values {
        [one] => Some(one),
        several => several.get(row),
    }
}

fn float(value: f64, out: &mut String) -> std::fmt::Result {
    if value == 0.0 || (SMALL..LARGE).contains(&value.abs()) {
        return write!(out, "{value:?}");
    }
    match format!("{value:e}").split_once('e') {
        Some((digits, power)) if power.starts_with('-') => {
            write!(out, "{digits}e-{:0>2}", &power[1..])
        }
        Some((digits, power)) => write!(out, "{digits}e+{power:0>2}"),
        None => write!(out, "{value}"),
    }
}

fn quoted(text: &str, out: &mut String) -> std::fmt::Result {
    if text.contains([',', '"', '\r', '\n']) {
        write!(out, "\"{}\"", text.replace('"', "\"\""))
    } else {
        out.write_str(text)
    }
}

/// One line for each row.
pub fn lines(columns: &[TextColumn]) -> String {
    let alike: Vec<_> = columns.iter().map(TextColumn::alike).collect();
    let mut out = String::new();
    for row in 0..columns.iter().map(TextColumn::height).max().unwrap_or(0) {
        for (at, (column, alike)) in columns.iter().zip(&alike).enumerate() {
            if at > 0 {
                out.push(',');
            }
            match alike {
                Some(text) => out.push_str(text),
                None => column.write(row, &mut out),
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: TextCells, valid: &[u8]) -> TextColumn {
        TextColumn { cells, valid: valid.to_vec() }
    }

    #[test]
    fn one_value_stands_for_all_and_a_missing_one_is_empty() {
        let columns = [
            column(TextCells::Unsigned(vec![1, 2]), &[]),
            column(TextCells::Integer(vec![-7]), &[1, 0]),
            column(TextCells::Text(vec!["a, \"b\"".to_string()]), &[]),
            column(TextCells::Float(vec![0.0]), &[0]),
        ];
        assert_eq!(lines(&columns), "1,-7,\"a, \"\"b\"\"\",\n2,,\"a, \"\"b\"\"\",\n");
        assert_eq!(lines(&[]), "");
    }

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let mut out = String::new();
        for value in [0.0, 1.0, 0.1, 1e-4, 9e-5, -1.5e-7, 123456.789, 9e15, 1e16, 2.5e300] {
            float(value, &mut out).unwrap();
            out.push(' ');
        }
        let python =
            "0.0 1.0 0.1 0.0001 9e-05 -1.5e-07 123456.789 9000000000000000.0 1e+16 2.5e+300 ";
        assert_eq!(out, python);
    }
}
