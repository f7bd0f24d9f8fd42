//! Columns on the way to Python: a name, a type, the values' bytes, and which values are missing.

pub enum Values {
    Unsigned(Vec<u64>),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

pub struct Column {
    pub name: String,
    pub values: Values,
    /// 0 where the value is missing; empty if none ever was.
    pub valid: Vec<u8>,
}

/// A frame that is filled row by row, each row in the same order of columns.
pub struct Frame {
    pub columns: Vec<Column>,
    cursor: usize,
    rows: usize,
}

impl Frame {
    /// An empty frame with room for `rows` rows.
    pub fn new(rows: usize) -> Frame {
        Frame { columns: Vec::new(), cursor: 0, rows }
    }

    pub fn next_row(&mut self) {
        self.cursor = 0;
    }

    fn column(&mut self, name: &str, ending: &str, new: fn(usize) -> Values) -> &mut Column {
        if self.cursor == self.columns.len() {
            let name = format!("{name}{ending}");
            self.columns.push(Column { name, values: new(self.rows), valid: Vec::new() });
        }
        self.cursor += 1;
        &mut self.columns[self.cursor - 1]
    }

    pub fn unsigned(&mut self, name: &str, ending: &str, value: u64) {
        if let Values::Unsigned(values) =
            &mut self.column(name, ending, |rows| Values::Unsigned(Vec::with_capacity(rows))).values
        {
            values.push(value);
        }
    }

    pub fn unsigned_or_none(&mut self, name: &str, ending: &str, value: Option<u64>) {
        self.unsigned(name, ending, value.unwrap_or(0));
        self.mark(value.is_some());
    }

    pub fn integer(&mut self, name: &str, ending: &str, value: i64) {
        if let Values::Integer(values) =
            &mut self.column(name, ending, |rows| Values::Integer(Vec::with_capacity(rows))).values
        {
            values.push(value);
        }
    }

    pub fn integer_or_none(&mut self, name: &str, ending: &str, value: Option<i64>) {
        self.integer(name, ending, value.unwrap_or(0));
        self.mark(value.is_some());
    }

    pub fn float(&mut self, name: &str, ending: &str, value: f64) {
        if let Values::Float(values) =
            &mut self.column(name, ending, |rows| Values::Float(Vec::with_capacity(rows))).values
        {
            values.push(value);
        }
    }

    pub fn float_or_none(&mut self, name: &str, ending: &str, value: Option<f64>) {
        self.float(name, ending, value.unwrap_or(0.0));
        self.mark(value.is_some());
    }

    pub fn text(&mut self, name: &str, ending: &str, value: String) {
        if let Values::Text(values) =
            &mut self.column(name, ending, |rows| Values::Text(Vec::with_capacity(rows))).values
        {
            values.push(value);
        }
    }

    fn mark(&mut self, present: bool) {
        self.columns[self.cursor - 1].valid.push(u8::from(present));
    }
}
