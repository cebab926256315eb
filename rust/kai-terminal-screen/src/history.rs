//! The scrollback: logical lines that have left the screen, kept compactly and bounded in lines and in bytes.
//!
//! Text, runs and line ends lie in blocks. A block holds at most one piece of each logical line; a line longer than
//! a block goes on in the next ones, and when bytes run out its oldest pieces go first. Every block knows the
//! absolute number and the offset of its first byte, so that positions stay true whatever was dropped.

use std::collections::VecDeque;

use unicode_segmentation::UnicodeSegmentation;

use crate::Position;
use crate::line::Run;
use crate::style::StyleId;

const MAX_BLOCK: usize = 32 * 1024;
const MIN_BLOCK: usize = 256;

/// How far, in bytes, a grapheme cluster is looked for around a cut.
const WINDOW: usize = 256;

/// The most lines of a block.
const MAX_PIECES: usize = 4096;

/// What a line or a run costs beside its text.
const PIECE_COST: usize = size_of::<Piece>();
const RUN_COST: usize = size_of::<Run>();

/// A logical line, or the part of it that lies in this block.
#[derive(Clone, Copy, Debug)]
struct Piece {
    text_end: u32,
    runs_end: u32,
}

#[derive(Debug)]
struct Block {
    /// The number of the logical line of piece 0.
    line: u64,
    /// The offset in that line at which piece 0 begins.
    offset: usize,
    text: String,
    runs: Vec<Run>,
    pieces: Vec<Piece>,
    /// How many pieces at the front were dropped.
    dropped: usize,
}

/// One logical line's text in one block, with its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) line: u64,
    pub(crate) offset: usize,
    pub(crate) text: &'a str,
    pub(crate) runs: &'a [Run],
    /// Where the text begins in its block: the starts of the runs count from there.
    pub(crate) base: u32,
}

#[derive(Debug)]
pub(crate) struct History {
    blocks: VecDeque<Block>,
    spare: Option<Block>,
    max_lines: usize,
    max_bytes: usize,
    block_size: usize,
    bytes: usize,
    /// Where the next row to arrive begins: the end of the scrollback.
    end: Position,
    /// The last row that arrived goes on in the next one.
    open: bool,
    /// The oldest position kept.
    start: Position,
}

impl History {
    pub(crate) fn new(max_lines: usize, max_bytes: usize) -> History {
        History {
            blocks: VecDeque::new(),
            spare: None,
            max_lines,
            max_bytes,
            block_size: (max_bytes / 16).clamp(MIN_BLOCK, MAX_BLOCK),
            bytes: 0,
            end: Position::default(),
            open: false,
            start: Position::default(),
        }
    }

    /// Where the scrollback ends and the screen begins.
    pub(crate) fn end(&self) -> Position {
        self.end
    }

    /// The oldest position kept; its offset is not 0 when the beginning of its line was dropped.
    pub(crate) fn start(&self) -> Position {
        self.start
    }

    /// Takes a row that leaves the screen; `wrapped` says that its line goes on in the next one.
    pub(crate) fn push(&mut self, text: &str, runs: &[Run], wrapped: bool) {
        let mut from = 0;
        loop {
            let wanted = text.len() - from;
            if !self.has_room(wanted) || from > 0 {
                // A cluster that began in the old block ends there, so that a line that loses the old block begins
                // with a whole one.
                let rest = if self.open && from == 0 {
                    self.rest_of_cluster(text)
                } else {
                    0
                };
                if rest > 0 {
                    self.push_piece(&text[..rest], 0, runs);
                    from = rest;
                }
                self.begin_block();
            }
            let room = self
                .blocks
                .back()
                .map_or(0, |block| self.block_size.saturating_sub(block.text.len()));
            let to = boundary(text, from, room);
            self.push_piece(&text[from..to], from, runs);
            from = to;
            if from == text.len() {
                break;
            }
        }
        self.open = wrapped;
        if !wrapped {
            self.end = Position {
                line: self.end.line + 1,
                offset: 0,
            };
        }
        self.enforce_bounds();
    }

    /// Ends the line that the top row of the screen would have continued.
    pub(crate) fn close_line(&mut self) {
        if self.open {
            self.open = false;
            self.end = Position {
                line: self.end.line + 1,
                offset: 0,
            };
            self.enforce_bounds();
        }
    }

    /// Forgets everything kept; the numbers go on.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.bytes = 0;
        self.start = self.end;
    }

    /// The heap memory taken, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let block = |block: &Block| {
            block.text.capacity()
                + block.runs.capacity() * RUN_COST
                + block.pieces.capacity() * PIECE_COST
        };
        self.blocks.capacity() * size_of::<Block>()
            + self
                .blocks
                .iter()
                .chain(&self.spare)
                .map(block)
                .sum::<usize>()
    }

    /// Shows every style the scrollback uses, to be read or renamed.
    pub(crate) fn each_style(&mut self, visit: &mut impl FnMut(&mut StyleId)) {
        let runs = self.blocks.iter_mut().flat_map(|block| {
            // What was dropped counts no more, though its block is still there.
            let dropped = block
                .dropped
                .checked_sub(1)
                .map_or(0, |last| block.pieces[last].runs_end as usize);
            block.runs.iter_mut().skip(dropped)
        });
        runs.for_each(|run| visit(&mut run.style));
    }

    /// Whether the last block takes a piece of this length, or as much of it as any block takes.
    fn has_room(&self, wanted: usize) -> bool {
        self.blocks.back().is_some_and(|block| {
            let room = self.block_size.saturating_sub(block.text.len());
            block.pieces.len() < MAX_PIECES && room >= wanted.min(self.block_size)
        })
    }

    fn begin_block(&mut self) {
        if let Some(full) = self.blocks.back_mut() {
            full.text.shrink_to_fit();
            full.runs.shrink_to_fit();
            full.pieces.shrink_to_fit();
        }
        let mut block = self.spare.take().unwrap_or_else(|| Block {
            line: 0,
            offset: 0,
            text: String::new(),
            runs: Vec::new(),
            pieces: Vec::new(),
            dropped: 0,
        });
        block.line = self.end.line;
        block.offset = self.end.offset;
        self.blocks.push_back(block);
    }

    /// How many bytes at the beginning of a text belong to the grapheme cluster with which the scrollback ends.
    fn rest_of_cluster(&self, text: &str) -> usize {
        let Some(block) = self.blocks.back() else {
            return 0;
        };
        let before = &block.text[block
            .text
            .ceil_char_boundary(block.text.len().saturating_sub(WINDOW))..];
        let after = &text[..text.floor_char_boundary(WINDOW)];
        let joined = before.to_owned() + after;
        let border = joined
            .grapheme_indices(true)
            .map(|(offset, _)| offset)
            .find(|offset| *offset >= before.len());
        border.map_or(0, |border| border - before.len())
    }

    /// Adds the part of a row that begins at `from` in it to the last block.
    fn push_piece(&mut self, text: &str, from: usize, runs: &[Run]) {
        let Some(block) = self.blocks.back_mut() else {
            return;
        };
        let base = block.text.len();
        block.text.push_str(text);
        let to = from + text.len();
        let next = runs.partition_point(|run| run.start as usize <= from);
        let first = next
            .checked_sub(1)
            .map_or(StyleId::DEFAULT, |index| runs[index].style);
        let continues = block.pieces.len() as u64 + block.line > self.end.line;
        let runs_before = block.runs.len();
        let previous = if continues {
            let pieces = block.pieces.len();
            let runs_begin = if pieces > 1 {
                block.pieces[pieces - 2].runs_end
            } else {
                0
            };
            block.runs[runs_begin as usize..]
                .last()
                .map_or(StyleId::DEFAULT, |run| run.style)
        } else {
            StyleId::DEFAULT
        };
        if first != previous && !text.is_empty() {
            block.runs.push(Run {
                start: base as u32,
                style: first,
            });
        }
        for run in &runs[next..] {
            if run.start as usize >= to {
                break;
            }
            block.runs.push(Run {
                start: (base + run.start as usize - from) as u32,
                style: run.style,
            });
        }
        let added_runs = block.runs.len() - runs_before;
        if continues {
            block.pieces.pop();
        } else {
            self.bytes += PIECE_COST;
        }
        block.pieces.push(Piece {
            text_end: block.text.len() as u32,
            runs_end: block.runs.len() as u32,
        });
        self.bytes += text.len() + added_runs * RUN_COST;
        self.end.offset += text.len();
    }

    fn enforce_bounds(&mut self) {
        while self.bytes > self.max_bytes || self.line_count() > self.max_lines as u64 {
            if !self.drop_oldest() {
                return;
            }
        }
    }

    /// How many lines are kept, wholly or in part.
    fn line_count(&self) -> u64 {
        self.end.line - self.start.line + u64::from(self.open)
    }

    /// Drops the oldest piece; false when nothing is kept.
    fn drop_oldest(&mut self) -> bool {
        let Some(block) = self.blocks.front_mut() else {
            return false;
        };
        let (begin, end) = block.extent(block.dropped);
        let text = (end.text_end - begin.text_end) as usize;
        let runs = (end.runs_end - begin.runs_end) as usize;
        self.bytes = self
            .bytes
            .saturating_sub(text + runs * RUN_COST + PIECE_COST);
        let offset = if block.dropped == 0 { block.offset } else { 0 };
        let after = Position {
            line: block.line + block.dropped as u64,
            offset: offset + text,
        };
        block.dropped += 1;
        if block.dropped == block.pieces.len()
            && let Some(mut block) = self.blocks.pop_front()
        {
            block.text.clear();
            block.runs.clear();
            block.pieces.clear();
            block.dropped = 0;
            self.spare = Some(block);
        }
        self.start = match self.blocks.front() {
            // The line goes on in the next block, so its beginning is what was lost.
            Some(next) if next.dropped == 0 && next.line == after.line => after,
            Some(_) => Position {
                line: after.line + 1,
                offset: 0,
            },
            None => self.end,
        };
        true
    }

    /// The parts of the lines from `line` on, oldest first.
    pub(crate) fn parts_from(&self, line: u64) -> impl Iterator<Item = Part<'_>> {
        let mut first = self
            .blocks
            .partition_point(|block| block.line + block.pieces.len() as u64 <= line);
        // A line that began in earlier blocks ends as the only piece of each of them, so the search lands on the
        // first block that holds a piece of it.
        first = first.min(self.blocks.len());
        self.blocks.range(first..).flat_map(move |block| {
            let skip = usize::try_from(line.saturating_sub(block.line)).unwrap_or(usize::MAX);
            (skip.max(block.dropped)..block.pieces.len()).map(|index| block.piece(index))
        })
    }
}

impl<'a> Part<'a> {
    /// The text in stretches of one style.
    pub(crate) fn spans(self) -> impl Iterator<Item = (&'a str, StyleId)> {
        crate::line::spans(self.text, self.runs, self.base)
    }
}

impl Block {
    /// Where a piece begins, which is the end of the one before it, and where it ends.
    fn extent(&self, index: usize) -> (Piece, Piece) {
        let begin = index.checked_sub(1).map_or(
            Piece {
                text_end: 0,
                runs_end: 0,
            },
            |before| self.pieces[before],
        );
        (begin, self.pieces[index])
    }

    fn piece(&self, index: usize) -> Part<'_> {
        let (begin, end) = self.extent(index);
        Part {
            line: self.line + index as u64,
            offset: if index == 0 { self.offset } else { 0 },
            text: &self.text[begin.text_end as usize..end.text_end as usize],
            base: begin.text_end,
            runs: &self.runs[begin.runs_end as usize..end.runs_end as usize],
        }
    }
}

/// The last place in `text`, at most `room` bytes behind `from`, where it may be cut: between grapheme clusters.
/// Always behind `from`, so that cutting comes to an end.
fn boundary(text: &str, from: usize, room: usize) -> usize {
    if text.len() - from <= room {
        return text.len();
    }
    let start = text.ceil_char_boundary(from.max((from + room).saturating_sub(WINDOW)));
    let end = text.floor_char_boundary(from + room + WINDOW);
    let clusters = text[start..end]
        .grapheme_indices(true)
        .map(|(offset, _)| start + offset);
    let cut = clusters
        .take_while(|offset| *offset <= from + room)
        .last()
        .unwrap_or(from);
    if cut > from {
        return cut;
    }
    // No cluster fits: at least one character goes.
    text[from..]
        .char_indices()
        .nth(1)
        .map_or(text.len(), |(offset, _)| from + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// rule: R3
    #[test]
    fn a_line_that_lost_its_beginning_begins_with_a_whole_cluster() {
        const FAMILY: &str = "👨\u{200d}👩\u{200d}👧";
        for cut in 1..40 {
            let mut history = History::new(100, 0);
            history.max_bytes = 400;
            let text = "a".repeat(cut) + &FAMILY.repeat(100);
            // Rows that end in the middle of a cluster.
            let characters: Vec<char> = text.chars().collect();
            for row in characters.chunks(7) {
                history.push(&row.iter().collect::<String>(), &[], true);
                let kept: String = history.parts_from(0).map(|part| part.text).collect();
                let start = history.start();
                assert_eq!(kept.len(), history.end().offset - start.offset);
                assert!(text[start.offset..].starts_with(&kept));
                let whole = text
                    .grapheme_indices(true)
                    .any(|(offset, _)| offset == start.offset);
                assert!(whole || kept.is_empty(), "{cut}: {kept:?}");
            }
        }
    }

    /// rule: R1, R3
    #[test]
    fn a_row_longer_than_a_block_is_cut_between_clusters() {
        let mut history = History::new(100, 1 << 20);
        history.block_size = 300;
        let text = "e\u{301}漢".repeat(1000);
        history.push(
            &text,
            &[Run {
                start: 6,
                style: StyleId(3),
            }],
            false,
        );
        let parts: Vec<_> = history.parts_from(0).collect();
        assert!(parts.len() > 10);
        assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), text);
        for part in parts {
            assert!(part.text.starts_with(['e', '漢']));
            assert!(part.offset == 0 || part.spans().all(|(_, style)| style == StyleId(3)));
        }
    }
}
