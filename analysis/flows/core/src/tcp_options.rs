//! TCP's options: MSS (RFC 9293), window scale and timestamps (RFC 7323), SACK (RFC 2018).

const MOST_BLOCKS: usize = 4;

/// The options of a segment; what is cut off or damaged ends the parsing and leaves what came
/// before.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    pub blocks: [(u32, u32); MOST_BLOCKS],
    pub block_count: u8,
}

impl Options {
    #[inline(always)]
    pub fn parse(&mut self, bytes: &[u8]) {
        (self.mss, self.scale, self.sack_permitted, self.timestamps, self.block_count) =
            (None, None, false, None, 0);
        // By far the most common: two NOPs and the timestamps, and nothing or SACK behind them.
        let rest = match bytes {
            [1, 1, 8, 10, a, b, c, d, e, f, g, h, rest @ ..] => {
                self.timestamps = Some((
                    u32::from_be_bytes([*a, *b, *c, *d]),
                    u32::from_be_bytes([*e, *f, *g, *h]),
                ));
                rest
            }
            _ => bytes,
        };
        if !rest.is_empty() {
            self.each(rest);
        }
    }

    fn each(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() && bytes[at] != 0 {
            if bytes[at] == 1 {
                at += 1;
                continue;
            }
            let length = match bytes.get(at + 1) {
                Some(length) if *length >= 2 && at + usize::from(*length) <= bytes.len() => {
                    usize::from(*length)
                }
                _ => return,
            };
            self.one(&bytes[at..at + length]);
            at += length;
        }
    }

    fn one(&mut self, option: &[u8]) {
        match (option[0], option.len()) {
            (2, 4) => self.mss = Some(u16::from_be_bytes([option[2], option[3]])),
            // RFC 7323, section 2.3: a larger scale counts as 14.
            (3, 3) => self.scale = Some(option[2].min(14)),
            (4, 2) => self.sack_permitted = true,
            (5, length) if length >= 10 => self.sack(&option[2..]),
            (8, 10) => self.timestamps = Some((number(option, 2), number(option, 6))),
            _ => {}
        }
    }

    fn sack(&mut self, blocks: &[u8]) {
        self.block_count = 0;
        for block in blocks.chunks_exact(8).take(MOST_BLOCKS) {
            self.blocks[usize::from(self.block_count)] = (number(block, 0), number(block, 4));
            self.block_count += 1;
        }
    }

    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }
}

#[inline(always)]
pub fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(bytes: &[u8]) -> Options {
        let mut options = Options::default();
        options.parse(bytes);
        options
    }

    #[test]
    fn the_options_of_a_syn() {
        let options = parsed(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 3, 3, 200]);
        assert_eq!(
            (options.mss, options.scale, options.sack_permitted),
            (Some(1460), Some(14), true)
        );
        assert_eq!(options.timestamps, Some((7, 9)));
    }

    #[test]
    fn what_is_cut_off_or_damaged_ends_the_options_and_keeps_what_came_before() {
        assert_eq!(parsed(&[2, 4, 5, 0xb4, 8, 10, 0, 0]).mss, Some(1460));
        assert_eq!(parsed(&[8, 0, 1, 1]).timestamps, None);
        assert_eq!(
            parsed(&[5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4]).sacks(),
            [(3, 4)]
        );
        let full: Vec<u8> =
            [5, 34].into_iter().chain([7; 32]).chain([5, 34]).chain([7; 32]).collect();
        assert_eq!(parsed(&full).sacks().len(), 4);
    }
}
