//! Word lists. Data only, hashed at compile time: nearly every word of a text is looked up.

/// A set of words.
pub(super) struct List {
    words: &'static [&'static str],
    /// Positions in `words`, counted from 1; 0 is free. A word is in the first free slot from its own on.
    slots: [u8; SLOTS],
}

impl List {
    const fn new(words: &'static [&'static str]) -> Self {
        assert!(words.len() <= u8::MAX as usize, "slots hold bytes");
        let mut slots = [0; SLOTS];
        let mut number = 0;
        while number < words.len() {
            let mut slot = own_slot(words[number].as_bytes());
            while slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            number += 1;
            slots[slot] = number as u8;
        }
        Self { words, slots }
    }

    #[inline]
    pub(super) fn has(&self, word: &[u8]) -> bool {
        let mut slot = own_slot(word);
        while let Some(at) = self.slots[slot].checked_sub(1) {
            if self.words[usize::from(at)].as_bytes() == word {
                return true;
            }
            slot = (slot + 1) % SLOTS;
        }
        false
    }
}

/// Length, first and last letter tell most words apart.
const fn own_slot(word: &[u8]) -> usize {
    match word {
        [] => 0,
        [first, .., last] => (word.len() * 17 + *first as usize * 31 + *last as usize * 13) % SLOTS,
        [only] => *only as usize % SLOTS,
    }
}

/// So many that a word which is not listed nearly always meets a free one at once.
const SLOTS: usize = 1024;

/// Never end a sentence: titles, and what always introduces something.
pub(super) static NEVER: List = List::new(&[
    "Dipl", "Dr", "Drs", "Fr", "Gen", "Hon", "Hr", "Ing", "M", "MM", "Messrs", "Mlle", "Mme", "Mr",
    "Mrs", "Ms", "Mt", "Prof", "Rep", "Rev", "Sen", "Sr", "Sra", "Srta", "St", "bzgl", "bzw", "ca",
    "cf", "d.h", "e.g", "eg", "evtl", "ggf", "i.e", "ie", "inkl", "p.ej", "sog", "u.a", "vs",
    "z.B", "z.T", "zzgl", "т.е", "т.к",
]);

/// Do not end a sentence before a number.
pub(super) static NUMBER: List = List::new(&[
    "Abb", "Abs", "Art", "Aufl", "Bd", "Ch", "Eq", "Eqs", "Fig", "Figs", "Kap", "Lem", "No", "Nos",
    "Nr", "Núm", "Prop", "S", "Sec", "Tab", "Thm", "Vol", "art", "ch", "eq", "fig", "no", "nr",
    "núm", "p", "pg", "pp", "sec", "vol", "гл", "рис", "с", "стр",
]);

/// May end a sentence; do when a common opener follows.
pub(super) static MAYBE: List = List::new(&[
    "Apr", "Aug", "Ave", "Bros", "Co", "Corp", "Dec", "Dept", "Feb", "Inc", "Jan", "Jr", "Jul",
    "Jun", "Ltd", "Mar", "Nov", "Oct", "Ph.D", "Rd", "Sep", "Sept", "al", "approx", "dept", "est",
    "etc", "ft", "hrs", "lb", "lbs", "max", "min", "mins", "oz", "resp", "usw", "г", "др", "руб",
    "т.д", "т.п",
]);

/// Follow a day's ordinal in German ("12. Juni"), so that the dot is not a full stop.
pub(super) static AFTER_ORDINAL: List = List::new(&[
    "April",
    "August",
    "Dezember",
    "Februar",
    "Geburtstag",
    "Jahrhundert",
    "Januar",
    "Juli",
    "Juni",
    "Klasse",
    "Mai",
    "Mal",
    "März",
    "November",
    "Oktober",
    "Platz",
    "September",
    "Tag",
    "Woche",
]);

/// Begin sentences often enough to prove that an abbreviation before them ended one.
pub(super) static OPENERS: List = List::new(&[
    "A",
    "After",
    "All",
    "Also",
    "Alternatively",
    "An",
    "And",
    "Another",
    "As",
    "At",
    "Because",
    "But",
    "Can",
    "Das",
    "Der",
    "Die",
    "Each",
    "El",
    "Ella",
    "Elle",
    "Er",
    "Es",
    "Finally",
    "First",
    "For",
    "From",
    "Given",
    "He",
    "Hence",
    "Her",
    "His",
    "Hmm",
    "How",
    "However",
    "I",
    "If",
    "Il",
    "Ils",
    "In",
    "Is",
    "It",
    "Its",
    "La",
    "Las",
    "Le",
    "Les",
    "Let",
    "Los",
    "Maybe",
    "My",
    "Next",
    "No",
    "Not",
    "Now",
    "Oh",
    "Okay",
    "On",
    "Or",
    "Our",
    "Perhaps",
    "She",
    "Sie",
    "Similarly",
    "Since",
    "So",
    "Some",
    "That",
    "The",
    "Their",
    "Then",
    "There",
    "Therefore",
    "These",
    "They",
    "This",
    "Those",
    "Thus",
    "To",
    "Wait",
    "We",
    "Well",
    "What",
    "When",
    "Where",
    "Which",
    "While",
    "Why",
    "With",
    "Yes",
    "You",
    "Your",
    "А",
    "В",
    "Если",
    "И",
    "Но",
    "Он",
    "Она",
    "Они",
    "Так",
    "Теперь",
    "Это",
]);

/// Conjunctions and relative words: a clause begins before them.
pub(super) static CONJUNCTIONS: List = List::new(&[
    "aber",
    "als",
    "although",
    "and",
    "ani",
    "as",
    "au",
    "aunque",
    "bahwa",
    "because",
    "before",
    "but",
    "car",
    "como",
    "cuando",
    "da",
    "damit",
    "dann",
    "dass",
    "denn",
    "die",
    "donc",
    "e",
    "entonces",
    "et",
    "except",
    "hence",
    "however",
    "if",
    "kama",
    "kisha",
    "kwa",
    "lakini",
    "lorsque",
    "mais",
    "na",
    "ni",
    "nor",
    "o",
    "ob",
    "oder",
    "or",
    "ou",
    "où",
    "pero",
    "porque",
    "pues",
    "que",
    "qui",
    "rather",
    "si",
    "since",
    "so",
    "sobald",
    "sondern",
    "soweit",
    "such",
    "than",
    "then",
    "therefore",
    "though",
    "thus",
    "und",
    "unless",
    "until",
    "weil",
    "wenn",
    "when",
    "where",
    "whereas",
    "whether",
    "which",
    "while",
    "who",
    "whose",
    "why",
    "wobei",
    "y",
    "yet",
    "а",
    "если",
    "и",
    "или",
    "когда",
    "которая",
    "которые",
    "который",
    "но",
    "потому",
    "поэтому",
    "так",
    "то",
    "тогда",
    "что",
    "чтобы",
    "অথবা",
    "আর",
    "এবং",
    "কারণ",
    "কিন্তু",
    "তাই",
    "তারপর",
    "যদি",
    "যা",
    "সুতরাং",
]);

/// Prepositions, "that" and "to": the last resort before any blank.
pub(super) static PREPOSITIONS: List = List::new(&[
    "about",
    "across",
    "after",
    "against",
    "ambayo",
    "among",
    "an",
    "around",
    "at",
    "auf",
    "aus",
    "avec",
    "bei",
    "between",
    "by",
    "con",
    "dans",
    "de",
    "des",
    "desde",
    "di",
    "du",
    "durch",
    "during",
    "en",
    "entre",
    "for",
    "from",
    "für",
    "hasta",
    "hivyo",
    "im",
    "in",
    "instead",
    "into",
    "is",
    "mit",
    "nach",
    "of",
    "on",
    "onto",
    "over",
    "par",
    "para",
    "per",
    "por",
    "pour",
    "sans",
    "sin",
    "sobre",
    "sur",
    "that",
    "through",
    "to",
    "toward",
    "towards",
    "um",
    "under",
    "using",
    "via",
    "von",
    "vor",
    "with",
    "within",
    "without",
    "ya",
    "za",
    "zu",
    "zum",
    "zur",
    "über",
    "без",
    "в",
    "для",
    "до",
    "за",
    "из",
    "к",
    "на",
    "от",
    "по",
    "при",
    "с",
    "у",
    "জন্য",
    "থেকে",
    "সাথে",
]);

/// LaTeX commands for relations: a formula may be broken after them.
pub(super) static RELATIONS: List = List::new(&[
    "Leftrightarrow",
    "Longrightarrow",
    "Rightarrow",
    "approx",
    "colon",
    "coloneqq",
    "cong",
    "equiv",
    "ge",
    "geq",
    "geqslant",
    "gg",
    "gt",
    "iff",
    "implies",
    "in",
    "land",
    "le",
    "leq",
    "leqslant",
    "ll",
    "lor",
    "lt",
    "mapsto",
    "mid",
    "ne",
    "neq",
    "ni",
    "notin",
    "propto",
    "qquad",
    "quad",
    "rightarrow",
    "sim",
    "simeq",
    "subset",
    "subseteq",
    "supset",
    "supseteq",
    "to",
]);

/// LaTeX commands for operators: a formula may be broken after them if need be.
pub(super) static OPERATORS: List = List::new(&[
    "cap", "cdot", "cup", "div", "mp", "oplus", "otimes", "pm", "setminus", "times", "vee", "wedge",
]);

#[cfg(test)]
mod tests {
    use super::*;

    static ALL: [&List; 9] = [
        &NEVER,
        &NUMBER,
        &MAYBE,
        &AFTER_ORDINAL,
        &OPENERS,
        &CONJUNCTIONS,
        &PREPOSITIONS,
        &RELATIONS,
        &OPERATORS,
    ];

    #[test]
    fn lists_are_sorted() {
        for list in ALL {
            for pair in list.words.windows(2) {
                assert!(pair[0] < pair[1], "{pair:?}");
            }
        }
    }

    #[test]
    fn lists_have_their_words_and_no_others() {
        for list in ALL {
            for word in ALL.iter().flat_map(|other| other.words) {
                assert_eq!(list.has(word.as_bytes()), list.words.contains(word), "{word:?}");
            }
            assert!(!list.has(b"") && !list.has(b"x"));
        }
    }

    #[test]
    fn words_fit_the_scanner() {
        for list in ALL {
            assert!(list.words.iter().all(|word| word.len() < super::super::scan::WORD_BYTES));
        }
    }
}
