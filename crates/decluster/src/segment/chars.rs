//! What single characters are. Tables by range; no state.

/// What the token estimate and the scanner need to know of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    /// Cyrillic, Greek, Armenian, Georgian, Hebrew, Arabic: alphabets with blanks between words.
    Cased,
    Digit,
    Punctuation,
    Newline,
    Blank,
    Han,
    Kana,
    Hangul,
    /// Thai, Lao, Khmer, Myanmar: no blanks between words.
    Thai,
    Indic,
    WidePunctuation,
    Other,
}

#[inline]
pub(super) fn script(c: char) -> Script {
    match ASCII.get(c as usize) {
        Some(script) => *script,
        None => beyond_ascii(c),
    }
}

/// Most text is ASCII, and this is asked for each character.
static ASCII: [Script; 128] = {
    let mut table = [Script::Punctuation; 128];
    let mut at = 0;
    while at < 128 {
        table[at] = match at as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Script::Latin,
            b'0'..=b'9' => Script::Digit,
            b'\n' | b'\r' => Script::Newline,
            b' ' | b'\t' | 0x0b | 0x0c => Script::Blank,
            _ => Script::Punctuation,
        };
        at += 1;
    }
    table
};

fn beyond_ascii(c: char) -> Script {
    match c as u32 {
        0xaa | 0xba | 0xc0..=0xd6 | 0xd8..=0xf6 | 0xf8..=0x24f | 0x1e00..=0x1eff => Script::Latin,
        0x370..=0x482
        | 0x48a..=0x58f
        | 0x5d0..=0x5ea
        | 0x620..=0x65f
        | 0x671..=0x6d3
        | 0x10a0..=0x10ff
        | 0x1f00..=0x1fff => Script::Cased,
        0x660..=0x669 | 0x6f0..=0x6f9 => Script::Digit,
        0x85 | 0x2028 | 0x2029 => Script::Newline,
        0x1680 | 0x2000..=0x2006 | 0x2008..=0x200a | 0x205f | 0x3000 => Script::Blank,
        0xa0..=0xbf
        | 0xd7
        | 0xf7
        | 0x5be
        | 0x60c..=0x61f
        | 0x6d4
        | 0x2010..=0x2027
        | 0x202f..=0x205e => Script::Punctuation,
        0x900..=0xdff => Script::Indic,
        0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff => Script::Thai,
        0x3001..=0x3004
        | 0x3008..=0x3029
        | 0xff01..=0xff0f
        | 0xff1a..=0xff20
        | 0xff3b..=0xff40
        | 0xff5b..=0xff65 => Script::WidePunctuation,
        0x3040..=0x30ff | 0x31f0..=0x31ff | 0xff66..=0xff9f => Script::Kana,
        0x3005..=0x3007
        | 0x2e80..=0x2fdf
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfaff
        | 0x20000..=0x3ffff => Script::Han,
        0x1100..=0x11ff | 0x3130..=0x318f | 0xa960..=0xa97f | 0xac00..=0xd7ff => Script::Hangul,
        _ => Script::Other,
    }
}

impl Script {
    /// Letters and digits: no punctuation among them. (Indic has the danda.)
    pub(super) const fn is_of_words(self) -> bool {
        matches!(
            self,
            Self::Latin
                | Self::Cased
                | Self::Digit
                | Self::Han
                | Self::Kana
                | Self::Hangul
                | Self::Thai
        )
    }

    /// Text may be cut at any cluster of these, there being no blanks to cut at.
    pub(super) const fn without_blanks(self) -> bool {
        matches!(self, Self::Han | Self::Kana | Self::Thai)
    }
}

/// Closes what a sentence end may be wrapped in. Low-high quotes („…“) close with what English opens
/// with; attached to a full stop it can only be a closer.
pub(super) const fn is_closer(c: char) -> bool {
    matches!(
        c,
        ')' | ']'
            | '}'
            | '"'
            | '\''
            | '*'
            | '_'
            | '`'
            | '$'
            | '~'
            | '”'
            | '“'
            | '’'
            | '‘'
            | '»'
            | '«'
            | '›'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '］'
            | '〕'
    )
}

/// Opens a quotation or emphasis before a word; not part of the word.
pub(super) const fn is_opener(c: char) -> bool {
    matches!(
        c,
        '(' | '['
            | '{'
            | '"'
            | '\''
            | '*'
            | '_'
            | '“'
            | '„'
            | '‘'
            | '‚'
            | '«'
            | '»'
            | '‹'
            | '¿'
            | '¡'
            | '「'
            | '『'
            | '（'
            | '【'
            | '《'
    )
}

/// Quotation marks that close, or may close.
pub(super) const fn is_quote(c: char) -> bool {
    matches!(c, '"' | '”' | '“' | '’' | '‘' | '»' | '«' | '›' | '」' | '』')
}

/// A full stop that needs no blank after it, in the scripts that have their own.
pub(super) const fn is_stop(c: char) -> bool {
    matches!(
        c,
        '。' | '｡'
            | '！'
            | '？'
            | '．'
            | '।'
            | '॥'
            | '؟'
            | '۔'
            | '։'
            | '።'
            | '፧'
            | '။'
            | '។'
            | '៕'
    )
}

/// Emoji, which stand after the sentence they belong to, and what they are joined with. Those that announce
/// something (✅ ❌ ⚠ 👉 💡 📌) stand before it.
pub(super) const fn is_smiley(c: char) -> bool {
    matches!(
        c as u32,
        0x200d | 0x2600..=0x2775 | 0x2b50 | 0x2b55 | 0xfe0f | 0x1f000..=0x1faff | 0xe0020..=0xe007f
    ) && !matches!(c, '✅' | '❌' | '⚠' | '👉' | '💡' | '📌')
}

/// The sign of a footnote, set after the stop.
pub(super) const fn is_note(c: char) -> bool {
    matches!(c, '¹' | '²' | '³' | '⁰' | '⁴'..='⁹' | '†' | '‡')
}

/// Two of these side by side are always two clusters: their `Grapheme_Cluster_Break` is Any, or they are
/// whole syllables of Hangul, or letters of Devanagari with no virama between. Leaves out what extends
/// (combining marks), what is pictographic (© ®) and what is control.
pub(super) const fn is_plain(c: char) -> bool {
    matches!(
        c as u32,
        0x20..=0x7e | 0xc0..=0x24f | 0x400..=0x481 | 0x48a..=0x52f | 0x5d0..=0x5ea | 0x620..=0x64a
            | 0x904..=0x939 | 0x2010..=0x2027 | 0x3001..=0x3029 | 0x3041..=0x3096 | 0x30a1..=0x30fa
            | 0x4e00..=0x9fff | 0xac00..=0xd7a3 | 0xff01..=0xff60
    )
}

/// [`char::is_alphabetic`], quick for the letters that most text consists of.
#[inline]
pub(super) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { is_letter_beyond_ascii(c) }
}

fn is_letter_beyond_ascii(c: char) -> bool {
    match c as u32 {
        0xc0..=0xd6
        | 0xd8..=0xf6
        | 0xf8..=0x24f
        | 0x400..=0x481
        | 0x5d0..=0x5ea
        | 0x620..=0x64a
        | 0x904..=0x939
        | 0x3041..=0x3096
        | 0x30a1..=0x30fa
        | 0x4e00..=0x9fff
        | 0xac00..=0xd7a3 => true,
        _ => c.is_alphabetic(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn plain_pairs_are_two_clusters() {
        let mut text = std::string::String::new();
        for plain in (0..0x1_0000).filter_map(char::from_u32).filter(|c| is_plain(*c)) {
            text.clear();
            text.push(plain);
            text.push('a');
            text.push(plain);
            text.push(plain);
            assert_eq!(text.graphemes(true).count(), 4, "{plain:?}");
        }
    }

    #[test]
    fn letters() {
        for c in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            assert_eq!(is_letter(c), c.is_alphabetic(), "{c:?}");
        }
    }

    #[test]
    fn scripts() {
        assert_eq!(script('é'), Script::Latin);
        assert_eq!(script('ж'), Script::Cased);
        assert_eq!(script('。'), Script::WidePunctuation);
        assert_eq!(script('👍'), Script::Other);
    }
}
