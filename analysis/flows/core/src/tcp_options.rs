//! TCP's options: MSS (RFC 9293), window scale and timestamps (RFC 7323), SACK (RFC 2018), Fast
//! Open (RFC 7413), Multipath TCP (RFC 8684), AccECN (RFC 9768).

pub const MOST_BLOCKS: usize = 4;
/// The end of the options is 0, and between them may be 1: larger bytes begin what says something.
pub const PADDING: u8 = 1;

/// What few segments have: the urgent pointer, and options other than timestamps.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RareFields {
    pub urgent: u16,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    pub blocks: [(u32, u32); MOST_BLOCKS],
    pub block_count: u8,
    pub fast_open: FastOpen,
    pub has_ecn_counters: bool,
    pub multipath: Option<Multipath>,
    /// The sender's key of MP_CAPABLE, or the token of MP_JOIN.
    pub key: u64,
    /// Whether a short snap length cut options off.
    pub is_cut: bool,
}

/// Of a SYN: whether it asks for a cookie or has one.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum FastOpen {
    #[default]
    No,
    Asks,
    HasCookie,
}

/// MP_CAPABLE with its version and whether there is a key, or MP_JOIN and whether it has a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    Capable { version: u8, has_key: bool },
    Join { has_token: bool },
}

/// What nearly all segments have of it: nothing.
pub static NO_RARE_FIELDS: RareFields = RareFields {
    urgent: 0,
    mss: None,
    scale: None,
    sack_permitted: false,
    blocks: [(0, 0); MOST_BLOCKS],
    block_count: 0,
    fast_open: FastOpen::No,
    has_ecn_counters: false,
    multipath: None,
    key: 0,
    is_cut: false,
};

/// TSval and TSecr.
pub type Timestamps = (u32, u32);

/// Timestamps at the beginning, and the options behind them. By far the most common options are two
/// NOPs and the timestamps, and nothing or SACK behind them.
#[inline(always)]
pub fn leading_timestamps(options: &[u8]) -> (Option<Timestamps>, &[u8]) {
    match options {
        [1, 1, 8, 10, a, b, c, d, e, f, g, h, rest @ ..] => {
            let value = u32::from_be_bytes([*a, *b, *c, *d]);
            (Some((value, u32::from_be_bytes([*e, *f, *g, *h]))), rest)
        }
        _ => (None, options),
    }
}

impl RareFields {
    /// Parses options, and returns the timestamps if they are among them. What is cut off or
    /// damaged ends the parsing and leaves what came before.
    pub fn parse(&mut self, bytes: &[u8]) -> Option<Timestamps> {
        let (mut at, mut timestamps) = (0, None);
        while at < bytes.len() && bytes[at] != 0 {
            if bytes[at] == 1 {
                at += 1;
                continue;
            }
            let length = match bytes.get(at + 1) {
                Some(length) if *length >= 2 && at + usize::from(*length) <= bytes.len() => {
                    usize::from(*length)
                }
                _ => break,
            };
            timestamps = self.one(&bytes[at..at + length]).or(timestamps);
            at += length;
        }
        timestamps
    }

    fn one(&mut self, option: &[u8]) -> Option<Timestamps> {
        match (option[0], option.len()) {
            (2, 4) => self.mss = Some(u16::from_be_bytes([option[2], option[3]])),
            // RFC 7323, section 2.3: a larger scale counts as 14.
            (3, 3) => self.scale = Some(option[2].min(14)),
            (4, 2) => self.sack_permitted = true,
            (5, length) if length >= 10 => self.sack(&option[2..]),
            (8, 10) => return Some((number(option, 2), number(option, 6))),
            (34, length) => self.fast_open = cookie(length - 2),
            // An experiment before the option had a number.
            (254, length) if length >= 4 && option[2..4] == [0xf9, 0x89] => {
                self.fast_open = cookie(length - 4);
            }
            (172, _) | (174, _) => self.has_ecn_counters = true,
            (30, length) if length >= 4 => self.multipath(option),
            _ => {}
        }
        None
    }

    fn multipath(&mut self, option: &[u8]) {
        match (option[2] >> 4, option.len()) {
            (0, length) => {
                let has_key = length >= 12;
                self.multipath = Some(Multipath::Capable { version: option[2] & 15, has_key });
                if has_key {
                    self.key = u64::from(number(option, 4)) << 32 | u64::from(number(option, 8));
                }
            }
            (1, length) => {
                let has_token = length == 12;
                self.multipath = Some(Multipath::Join { has_token });
                self.key = if has_token { number(option, 4).into() } else { 0 };
            }
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

fn cookie(length: usize) -> FastOpen {
    if length == 0 {
        FastOpen::Asks
    } else {
        FastOpen::HasCookie
    }
}

#[inline(always)]
pub fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(bytes: &[u8]) -> (RareFields, Option<Timestamps>) {
        let mut rare = RareFields::default();
        let timestamps = rare.parse(bytes);
        (rare, timestamps)
    }

    #[test]
    fn the_options_of_a_syn() {
        let syn = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 3, 3, 200];
        let (rare, timestamps) = parsed(&syn);
        assert_eq!((rare.mss, rare.scale, rare.sack_permitted), (Some(1460), Some(14), true));
        assert_eq!(timestamps, Some((7, 9)));
    }

    #[test]
    fn what_is_cut_off_or_damaged_ends_the_options_and_keeps_what_came_before() {
        assert_eq!(parsed(&[2, 4, 5, 0xb4, 8, 10, 0, 0]).0.mss, Some(1460));
        assert_eq!(parsed(&[8, 0, 1, 1]), (NO_RARE_FIELDS, None));
        let two = parsed(&[5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4]).0;
        assert_eq!(two.sacks(), [(3, 4)]);
        let full: Vec<u8> =
            [5, 34].into_iter().chain([7; 32]).chain([5, 34]).chain([7; 32]).collect();
        assert_eq!(parsed(&full).0.sacks().len(), 4);
    }

    #[test]
    fn timestamps_at_the_beginning_are_parsed_by_themselves() {
        let stamped = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 1];
        assert_eq!(leading_timestamps(&stamped), (Some((7, 9)), &[1, 1][..]));
        assert_eq!(leading_timestamps(&stamped[1..]), (None, &stamped[1..]));
    }
}
