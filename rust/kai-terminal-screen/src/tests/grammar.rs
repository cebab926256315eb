//! The parser follows the state machine of `vte` without looking into it: where there are no strings and nothing but
//! ASCII, `vte` alone must find the same text, controls and sequences.

use proptest::prelude::*;
use vte::{Params, Perform};

use super::streams::{Log, dump, stream};
use crate::parser::Performer;
use crate::{Options, Screen};

/// Takes everything from `vte`, text too.
struct Whole<'a>(Performer<'a>);

impl Perform for Whole<'_> {
    fn print(&mut self, character: char) {
        if character != '\u{7f}' {
            self.0.display.print(character, self.0.sink);
        }
    }

    fn execute(&mut self, byte: u8) {
        self.0.execute(byte);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.0.csi_dispatch(params, intermediates, ignore, action);
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], ignore: bool, byte: u8) {
        self.0.esc_dispatch(intermediates, ignore, byte);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// rule: A4
    #[test]
    fn sequences_are_those_of_vte(
        stream in stream(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"\x1b\x18\x1a[(;:?>!$0123mHJ\x7f ".to_vec())), 0..20),
    ) {
        let mut stream = stream;
        for (at, byte) in noise {
            stream.insert(at.index(stream.len() + 1), byte);
        }
        stream.retain(|byte| byte.is_ascii() && !b"]PX^_".contains(byte));
        let options = Options { cols: 12, rows: 5, ..Options::default() };
        let (mut ours, mut whole) = (Screen::new(options), Screen::new(options));
        let (mut our_log, mut whole_log) = (Log::default(), Log::default());
        ours.feed(&stream, &mut our_log);
        let performer = Performer { display: &mut whole.display, sink: &mut whole_log };
        vte::Parser::<1024>::default().advance(&mut Whole(performer), &stream);
        prop_assert_eq!(dump(&ours), dump(&whole));
        prop_assert_eq!(our_log, whole_log);
    }
}
