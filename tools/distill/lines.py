"""Ten thousand lines of mixed text to compare tokenizers on, made from a seed and the vocabulary's words."""

import random
import unicodedata

SEED = 20
LINES = 10_000

SENTENCES = [
    "A retry without a limit turns a slow database into an outage.",
    "Don't hold the lock while the callback runs; it may ask for the same lock.",
    "The cache key lacks the tenant's id, so two customers see each other's orders!",
    "Après la mise à jour, l'index doit être reconstruit: ça prend dix minutes.",
    "El año pasado falló la sincronización… ¿quién cambió la configuración?",
    "Die Prüfsumme schlägt fehl, weil Straße und STRASSE verschieden sortiert werden.",
    "Größere Änderungen über die Schnittstelle müssen rückwärtskompatibel bleiben.",
    "Der Donaudampfschifffahrtsgesellschaftskapitän übergab die Schlüssel.",
    "Кэш не очищается после обновления, поэтому сервер отдаёт старые данные.",
    "Её файл журнала занимает весь диск; перезапуск не помогает.",
    "Η βάση δεδομένων δεν απαντά όταν λήξει το πιστοποιητικό ΤΛΣ.",
    "数据库连接池耗尽时服务会重新启动。",
    "索引必須在每次寫入後更新,否則搜尋結果會過期。",
    "キャッシュを消してからサーバーを再起動してください。",
    "ガギグゲゴ パピプペポ ﾊﾟﾋﾟ",
    "데이터베이스 연결이 끊기면 다시 시도합니다.",
    "يجب إعادة تشغيل الخادم بعد تغيير الإعدادات.",
    "השרת מפסיק לענות כאשר הדיסק מלא.",
    "डेटाबेस कनेक्शन बंद होने पर सेवा रुक जाती है।",
    "ฐานข้อมูลไม่ตอบสนองเมื่อดิสก์เต็ม",
    "Máy chủ không phản hồi khi cơ sở dữ liệu đầy.",
    "Żółć i gęślą jaźń: Łódź, Kraków, Gdańsk.",
    "İstanbul'da ışık ve ILIK su; Ǆ ǅ ǆ ŉ ß ẞ ﬁ ﬀ Ω K Å.",
]
SNIPPETS = [
    "fn {0}<'a>(&'a self, {1}: &[u8]) -> Result<Option<{2}>, {3}Error> {{",
    "if ({0} !== null && {1}.{2}[{3}] >= 0x7fff_ffff) {{ return; }}",
    "SELECT {0}, COUNT(*) FROM {1}_{2} WHERE {3} IS NOT NULL GROUP BY 1;",
    "def {0}(self, *{1}, **{2}): return [x for x in {3} if x % 2 == 1]  # noqa: E501",
    'curl -fsSL "https://example.com/{0}/{1}?{2}=1&b=%20" | jq \'.[] | .{3}\'',
    "#include <{0}/{1}.h>\t#define {2}_MAX (1 << 12) /* {3} */",
    "error[E0502]: cannot borrow `{0}.{1}` as mutable --> src/{2}/{3}.rs:41:9",
    "thread 'main' panicked at crates/{0}/src/{1}.rs:7:5: {2} == {3}",
    "{0}@{1}.example <{2}-{3}@v1.2.3-rc.4+build.5> ~/.config/{0} C:\\{1}\\{2}.exe",
    "$\\sum_{{{0}}} {1}^2 \\le {2}$ \u00b1 0.5\u00b5m \u2264 {3} \u2260 \u221e \u20ac5 \u00a37 ^_^ `x` |y| <z>",
]
EMOJI = ["😀", "👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "❤️", "☃", "✅", "👍🏽", "1️⃣", "\U0001fae0"]
MARKS = ["\u0301", "\u0308", "\u0323", "\u0338", "\u20dd", "\u094d", "\u3099", "\u1ab0", "\u034f", "\u0903"]
CONTROLS = ["\0", "\x01", "\t", "\r", "\x0b", "\x0c", "\x1b[0m", "\x7f", "\x85", "\xa0", "\xad", "\u200b", "\u200d"]
CONTROLS += ["\u200f", "\u2028", "\u2029", "\u202e", "\u2066", "\u3000", "\ufeff", "\ufffd", "\ufffe", "\ue000", "\U000e0041"]
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[mask]", "[CLS", "[[SEP]]", "[ MASK ]", "##ing", "[unused7]"]


def lines(vocabulary: list[str]) -> list[str]:
    """The lines; every kind of them turns up about a thousand times."""
    rng = random.Random(SEED)
    words = [token.removeprefix("##") for token in vocabulary[999:]]
    kinds = [prose, foreign, code, identifiers, spoiled, characters, long_words, special, pieces, mixed]
    made = []
    while len(made) < LINES:
        line = kinds[len(made) % len(kinds)](rng, words)
        made.append(line.replace("\n", " "))
    return made


def some(rng, choices, least, most):
    return [rng.choice(choices) for _ in range(rng.randint(least, most))]


def recase(rng, word):
    return rng.choice([str.lower, str.upper, str.title, str.swapcase])(word)


def prose(rng, words):
    parts = some(rng, words, 2, 6) + rng.choice(SENTENCES[:3]).split()
    rng.shuffle(parts)
    return " ".join(parts).capitalize() + rng.choice([".", "!", "?", "...", "", " –", "“”"])


def foreign(rng, words):
    parts = " ".join(some(rng, SENTENCES[3:], 1, 2)).split()
    rng.shuffle(parts)
    form = rng.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return unicodedata.normalize(form, " ".join(parts + some(rng, words, 0, 2)))


def code(rng, words):
    return rng.choice(SNIPPETS).format(*(identifier(rng, words) for _ in range(4)))


def identifier(rng, words):
    parts = some(rng, words, 1, 3)
    style = rng.randrange(5)
    if style == 0:
        return "".join(part.capitalize() for part in parts)
    if style == 1:
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    return [" ", "_", "-", "/", "::"][style].join(parts) + rng.choice(["", "2", "_", "Id"])


def identifiers(rng, words):
    return rng.choice([" ", ", ", ".", "("]).join(identifier(rng, words) for _ in range(rng.randint(1, 5)))


def spoiled(rng, words):
    """Words with accents, invisible and control characters strewn in."""
    letters = list(" ".join(recase(rng, word) for word in some(rng, words, 2, 5)))
    for _ in range(rng.randint(1, 8)):
        letters.insert(rng.randint(0, len(letters)), rng.choice(rng.choice([MARKS, CONTROLS, EMOJI])))
    return "".join(letters)


def characters(rng, _words):
    """Any characters at all, most from where scripts are dense."""
    tops = [0x250, 0x530, 0x3000, 0x10000, 0x20000, 0x110000]
    points = [rng.randrange(rng.choice(tops)) for _ in range(rng.randint(1, 30))]
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


def long_words(rng, words):
    letter = rng.choice(["a", "Z", "é", "ж", "한", "中", "\u0301", "x\u0301", "\u200b", "."])
    joined = "".join(some(rng, words, 8, 24))
    return f"{letter * rng.randint(90, 110)} {joined} {joined[: rng.randint(96, 104)]}"


def special(rng, words):
    parts = some(rng, words, 1, 4) + some(rng, SPECIAL, 1, 4)
    rng.shuffle(parts)
    return rng.choice(["", " "]).join(parts)


def pieces(rng, words):
    """Words made of pieces, so that the longest match matters."""
    return " ".join("".join(some(rng, words, 2, 5)) for _ in range(rng.randint(1, 5)))


def mixed(rng, words):
    makers = [prose, foreign, code, identifiers, spoiled, characters, special]
    return rng.choice(["", " ", "\t", " | "]).join(rng.choice(makers)(rng, words)[:40] for _ in range(3))
