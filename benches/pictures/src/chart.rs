//! Groups of horizontal bars, as SVG.

use std::fmt;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 760;
const MARGIN: i32 = 16;
/// The space for the names of bars.
const NAMES: i32 = 196;
/// The space for the figures behind bars.
const FIGURES: i32 = 92;
const BAR: i32 = 18;
const GAP: i32 = 6;
const TITLE: i32 = 56;
const GROUP_TITLE: i32 = 30;

/// A picture of several groups of bars.
pub struct Chart {
    pub title: String,
    pub note: String,
    pub groups: Vec<Group>,
}

/// Bars on one scale, from zero to the longest of them.
pub struct Group {
    pub title: String,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub name: String,
    pub value: f64,
    pub text: String,
    /// `true` for a bar of this project.
    pub is_own: bool,
}

#[derive(Clone, Copy)]
pub enum Theme {
    Light,
    Dark,
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Light => "light",
            Self::Dark => "dark",
        })
    }
}

/// The colours of a theme: ground, text, lesser text, own bars, others.
struct Palette {
    ground: RGBColor,
    text: RGBColor,
    lesser: RGBColor,
    own: RGBColor,
    other: RGBColor,
}

impl Theme {
    fn palette(self) -> Palette {
        match self {
            Self::Light => Palette {
                ground: RGBColor(255, 255, 255),
                text: RGBColor(31, 35, 40),
                lesser: RGBColor(89, 99, 110),
                own: RGBColor(9, 105, 218),
                other: RGBColor(175, 184, 193),
            },
            Self::Dark => Palette {
                ground: RGBColor(13, 17, 23),
                text: RGBColor(230, 237, 243),
                lesser: RGBColor(145, 152, 161),
                own: RGBColor(68, 147, 248),
                other: RGBColor(101, 108, 118),
            },
        }
    }
}

impl Chart {
    fn height(&self) -> i32 {
        let group = |group: &Group| {
            let title = if group.title.is_empty() { GAP } else { GROUP_TITLE };
            title + group.bars.len() as i32 * (BAR + GAP)
        };
        MARGIN + TITLE + self.groups.iter().map(group).sum::<i32>() + MARGIN
    }

    pub fn svg(&self, theme: Theme) -> String {
        let mut svg = String::new();
        let size = (WIDTH, self.height() as u32);
        self.draw(&SVGBackend::with_string(&mut svg, size).into_drawing_area(), &theme.palette())
            .unwrap_or_else(|error| panic!("{error}"));
        // Trailing spaces and a missing line break at the end are mended by editors.
        svg.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    fn draw<D: DrawingBackend>(
        &self,
        area: &DrawingArea<D, plotters::coord::Shift>,
        palette: &Palette,
    ) -> Result<(), DrawingAreaErrorKind<D::ErrorType>> {
        area.fill(&palette.ground)?;
        // The crate takes a size for 1.24 times the font's.
        let font = |size: i32| ("sans-serif", f64::from(size) * 1.24).into_font();
        let text = |words: &str, at: (i32, i32), size: i32, colour: &RGBColor, side: HPos| {
            let style = font(size).color(colour).pos(Pos::new(side, VPos::Center));
            area.draw(&Text::new(words.to_owned(), at, style))
        };
        text(&self.title, (MARGIN, MARGIN + 10), 18, &palette.text, HPos::Left)?;
        text(&self.note, (MARGIN, MARGIN + 34), 13, &palette.lesser, HPos::Left)?;
        let mut y = MARGIN + TITLE;
        let room = f64::from(WIDTH as i32 - 2 * MARGIN - NAMES - FIGURES);
        for group in &self.groups {
            if group.title.is_empty() {
                y += GAP;
            } else {
                text(&group.title, (MARGIN, y + GROUP_TITLE / 2), 14, &palette.text, HPos::Left)?;
                y += GROUP_TITLE;
            }
            let longest = group.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
            for bar in &group.bars {
                let (left, middle) = (MARGIN + NAMES, y + BAR / 2);
                let right = left + (room * bar.value / longest).round().max(2.0) as i32;
                let colour = if bar.is_own { &palette.own } else { &palette.other };
                text(&bar.name, (left - 8, middle), 13, &palette.text, HPos::Right)?;
                area.draw(&Rectangle::new([(left, y), (right, y + BAR)], colour.filled()))?;
                text(&bar.text, (right + 8, middle), 13, &palette.text, HPos::Left)?;
                y += BAR + GAP;
            }
        }
        area.present()
    }
}
