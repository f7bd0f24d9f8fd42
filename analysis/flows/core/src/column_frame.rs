//! Columns on the way to Python: a name, a type, the values' bytes, and which values are missing.

use std::fmt::{Arguments, Write};

/// Room for the names of columns, and for all columns of a connection.
const NAME: usize = 40;
const COLUMNS: usize = 384;

/// A column's name without its ending. Formatting one of a single part would take as long as all
/// else of a small capture.
pub trait ColumnName {
    fn append_to(self, text: &mut String);
}

impl ColumnName for &str {
    fn append_to(self, text: &mut String) {
        text.push_str(self);
    }
}

impl ColumnName for Arguments<'_> {
    fn append_to(self, text: &mut String) {
        // A string takes all that is written.
        let _ = text.write_fmt(self);
    }
}

/// The values of a column. As long as all are the same, one stands for all: so it is in most
/// columns of most captures.
pub struct Cells<T> {
    values: Vec<T>,
    count: usize,
}

impl<T: Clone + PartialEq> Cells<T> {
    fn new() -> Cells<T> {
        Cells { values: Vec::new(), count: 0 }
    }

    /// Adds a value; `packet_rows` is how many there will be.
    fn push(&mut self, value: T, rows: usize) {
        self.count += 1;
        if let [one] = &self.values[..] {
            if *one == value {
                return;
            }
            let one = one.clone();
            self.values.reserve_exact(rows.saturating_sub(1));
            self.values.resize(self.count - 1, one);
        }
        self.values.push(value);
    }

    /// All values, or one that stands for all.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

pub enum Values {
    Unsigned(Cells<u64>),
    Integer(Cells<i64>),
    Float(Cells<f64>),
    Text(Cells<String>),
}

pub struct Column {
    pub name: String,
    pub values: Values,
    /// 0 if the value is missing; empty if none ever was.
    pub valid: Cells<u8>,
}

/// A frame that is filled row by row, each row in the same order of columns.
pub struct Frame {
    pub columns: Vec<Column>,
    cursor: usize,
    rows: usize,
}

impl Frame {
    /// An empty frame that will have so many rows.
    pub fn new(rows: usize) -> Frame {
        Frame { columns: Vec::with_capacity(COLUMNS), cursor: 0, rows }
    }

    pub fn next_row(&mut self) {
        self.cursor = 0;
    }

    /// The next column; its name is written when it is new.
    fn values(&mut self, name: impl ColumnName, ending: &str, new: fn() -> Values) -> &mut Values {
        if self.cursor == self.columns.len() {
            let mut text = String::with_capacity(NAME);
            name.append_to(&mut text);
            text.push_str(ending);
            self.columns.push(Column { name: text, values: new(), valid: Cells::new() });
        }
        self.cursor += 1;
        &mut self.columns[self.cursor - 1].values
    }

    pub fn unsigned(&mut self, name: impl ColumnName, ending: &str, value: u64) {
        let rows = self.rows;
        if let Values::Unsigned(values) =
            self.values(name, ending, || Values::Unsigned(Cells::new()))
        {
            values.push(value, rows);
        }
    }

    pub fn unsigned_or_none(&mut self, name: impl ColumnName, ending: &str, value: Option<u64>) {
        self.unsigned(name, ending, value.unwrap_or(0));
        self.mark(value.is_some());
    }

    pub fn integer(&mut self, name: impl ColumnName, ending: &str, value: i64) {
        let rows = self.rows;
        if let Values::Integer(values) = self.values(name, ending, || Values::Integer(Cells::new()))
        {
            values.push(value, rows);
        }
    }

    pub fn integer_or_none(&mut self, name: impl ColumnName, ending: &str, value: Option<i64>) {
        self.integer(name, ending, value.unwrap_or(0));
        self.mark(value.is_some());
    }

    pub fn float(&mut self, name: impl ColumnName, ending: &str, value: f64) {
        let rows = self.rows;
        if let Values::Float(values) = self.values(name, ending, || Values::Float(Cells::new())) {
            values.push(value, rows);
        }
    }

    pub fn float_or_none(&mut self, name: impl ColumnName, ending: &str, value: Option<f64>) {
        self.float(name, ending, value.unwrap_or(0.0));
        self.mark(value.is_some());
    }

    pub fn text(&mut self, name: impl ColumnName, ending: &str, value: String) {
        let rows = self.rows;
        if let Values::Text(values) = self.values(name, ending, || Values::Text(Cells::new())) {
            values.push(value, rows);
        }
    }

    fn mark(&mut self, present: bool) {
        self.columns[self.cursor - 1].valid.push(u8::from(present), self.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_stands_for_all_until_another_comes() {
        let mut cells = Cells::new();
        (0..3).for_each(|_| cells.push(7, 6));
        assert_eq!(cells.values(), [7]);
        [8, 7, 7].iter().for_each(|value| cells.push(*value, 6));
        assert_eq!(cells.values(), [7, 7, 7, 8, 7, 7]);
    }

    #[test]
    fn columns_of_one_and_of_two_rows_are_whole() {
        let mut cells = Cells::new();
        cells.push(1, 2);
        assert_eq!(cells.values(), [1]);
        cells.push(2, 2);
        assert_eq!(cells.values(), [1, 2]);
    }
}
