//! Tables of a Markdown page.

/// A table: its header, and its rows as cells.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One row of a [`Table`].
pub struct Row<'t> {
    header: &'t [String],
    cells: &'t [String],
}

impl Table {
    /// Returns the first table below a heading.
    pub fn under(page: &str, heading: &str) -> Self {
        let (_, rest) =
            page.split_once(heading).unwrap_or_else(|| panic!("no heading `{heading}`"));
        Self::all(rest).into_iter().next().unwrap_or_else(|| panic!("no table below `{heading}`"))
    }

    /// Returns the first table with a column of this name.
    pub fn with_column(page: &str, column: &str) -> Self {
        let mut all = Self::all(page).into_iter();
        all.find(|table| table.header.iter().any(|own| own == column))
            .unwrap_or_else(|| panic!("no table with the column `{column}`"))
    }

    fn all(page: &str) -> Vec<Self> {
        let mut tables: Vec<Self> = Vec::new();
        let mut is_inside = false;
        for line in page.lines() {
            let Some(cells) = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'))
            else {
                is_inside = false;
                continue;
            };
            let cells: Vec<String> =
                cells.split('|').map(|cell| cell.trim().replace("**", "")).collect();
            match tables.last_mut().filter(|_| is_inside) {
                Some(table)
                    if cells.iter().all(|cell| cell.bytes().all(|byte| b"-:".contains(&byte))) =>
                {
                    assert!(table.rows.is_empty(), "one rule in a table");
                }
                Some(table) => table.rows.push(cells),
                None => tables.push(Self { header: cells, rows: Vec::new() }),
            }
            is_inside = true;
        }
        tables
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { header: &self.header, cells })
    }
}

impl Row<'_> {
    /// Returns the text of a column, without its code marks; empty for a shorter row.
    pub fn cell(&self, column: &str) -> &str {
        let at = self.header.iter().position(|own| own == column);
        let at = at.unwrap_or_else(|| panic!("no column `{column}`"));
        self.cells.get(at).map_or("", |cell| cell.trim_matches('`'))
    }

    /// Returns the number that a column begins with; digits may be grouped by spaces.
    pub fn number(&self, column: &str) -> f64 {
        let text = self.cell(column);
        let end =
            text.find(|c: char| !c.is_ascii_digit() && !". ".contains(c)).unwrap_or(text.len());
        let digits = text[..end].replace(' ', "");
        digits.parse().unwrap_or_else(|error| panic!("`{text}` in `{column}`: {error}"))
    }
}
