/// The URLs that one argument stands for: `{a,b}` for each of some texts, `[1-3]`, `[001-100:10]` or `[a-z]` for each of a range.
///
/// A backslash before a brace or bracket makes it literal, as does the address of an IPv6 host, and what is no range between
/// brackets. `{<NAME>a,b}` and `[<NAME>1-3]` give the choice a name for `-o`.
struct URLGlob: Sendable {
    /// The maximum number of URLs that one argument may stand for.
    static let maximumCount = 100_000

    /// One of the URLs, and the texts that were chosen for it, in order.
    struct Expansion: Sendable {
        var url: String
        fileprivate var choices: [(name: String?, text: String)] = []

        /// The path of `-o` for the URL: `#1` is the first choice, `#<NAME>` the one with the name. A `#` without a choice stays.
        func path(_ template: String) -> String {
            var path = String.UnicodeScalarView()
            var rest = template[...].unicodeScalars
            while let scalar = rest.popFirst() {
                let digits = rest.prefix { ("0"..."9").contains($0) }
                if scalar == "#", let number = Int(Substring(digits)), choices.indices.contains(number - 1) {
                    path += choices[number - 1].text.unicodeScalars
                    rest = rest[digits.endIndex...]
                } else if scalar == "#", let (name, end) = URLGlob.name(rest),
                    let choice = choices.first(where: { $0.name == name })
                {
                    path += choice.text.unicodeScalars
                    rest = end
                } else {
                    path.append(scalar)
                }
            }
            return String(path)
        }
    }

    /// A part of the argument: its texts in turn.
    private enum Part: Sendable {
        case literal(String)
        case list([String], name: String?)
        case letters(first: UInt8, count: Int, step: Int, name: String?)
        case numbers(first: Int, count: Int, step: Int, width: Int, name: String?)

        var count: Int {
            switch self {
            case .literal: 1
            case .list(let texts, _): texts.count
            case .letters(_, let count, _, _), .numbers(_, let count, _, _, _): count
            }
        }

        func text(_ index: Int) -> String {
            switch self {
            case .literal(let text): text
            case .list(let texts, _): texts[index]
            case .letters(let first, _, let step, _): String(UnicodeScalar(first + UInt8(index * step)))
            case .numbers(let first, _, let step, let width, _):
                String(repeating: "0", count: max(0, width - String(first + index * step).utf8.count))
                    + String(first + index * step)
            }
        }

        /// The name of a choice; nil for a literal part.
        var choice: String?? {
            switch self {
            case .literal: nil
            case .list(_, let name), .letters(_, _, _, let name), .numbers(_, _, _, _, let name): .some(name)
            }
        }
    }

    private let parts: [Part]
    /// The number of URLs.
    let count: Int
    /// Whether the argument has a choice.
    var hasChoices: Bool { parts.contains { $0.choice != nil } }

    /// An argument that stands for itself.
    init(literal text: String) {
        parts = [.literal(text)]
        count = 1
    }

    /// - Throws: for a brace without its counterpart, an impossible range, and more than ``maximumCount`` URLs.
    init(_ text: String) throws(URLArgument.Invalid) {
        // JSON, for example: no URL begins with a bracket.
        if let first = text.utf8.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "["), !text.contains("://")
        {
            self = URLGlob(literal: text)
            return
        }
        var reader = Reader(text)
        var parts: [Part] = []
        var count = 1
        while let part = try reader.next() {
            let (product, isTooLarge) = count.multipliedReportingOverflow(by: part.count)
            guard !isTooLarge, product <= URLGlob.maximumCount else {
                throw URLArgument.Invalid(text, "it stands for more than \(URLGlob.maximumCount) URLs")
            }
            count = product
            parts.append(part)
        }
        self.parts = parts
        self.count = count
    }

    /// The URLs. The last choice changes first.
    var expansions: [Expansion] {
        (0..<count).map { index in
            var rest = index
            var texts: [String] = []
            for part in parts.reversed() {
                texts.append(part.text(rest % part.count))
                rest /= part.count
            }
            texts.reverse()
            var expansion = Expansion(url: texts.joined())
            for (part, text) in zip(parts, texts) {
                if let name = part.choice { expansion.choices.append((name, text)) }
            }
            return expansion
        }
    }

    /// The name in `<NAME>` at the beginning of a text, and the rest of the text.
    private static func name(_ text: Substring.UnicodeScalarView) -> (String, Substring.UnicodeScalarView)? {
        guard text.first == "<", let end = text.firstIndex(of: ">") else { return nil }
        let name = String(text[..<end].dropFirst())
        return name.isEmpty ? nil : (name, text[end...].dropFirst())
    }

    /// Reads the parts of an argument. By scalars: a bracket beside a combining mark is part of another `Character`.
    private struct Reader {
        private let text: String
        private var rest: Substring.UnicodeScalarView

        init(_ text: String) {
            self.text = text
            rest = text[...].unicodeScalars
        }

        /// The next part; nil at the end.
        mutating func next() throws(URLArgument.Invalid) -> Part? {
            var literal = String.UnicodeScalarView()
            while let scalar = rest.first {
                switch scalar {
                case "{":
                    if !literal.isEmpty { return .literal(String(literal)) }
                    return try list()
                case "[":
                    guard let end = rest.firstIndex(of: "]") else { throw unpaired("[", "]", "%5B") }
                    let range = try range(rest[..<end].dropFirst())
                    if range != nil, !literal.isEmpty { return .literal(String(literal)) }
                    if range == nil { literal += rest[...end] }
                    rest = rest[end...].dropFirst()
                    if let range { return range }
                case "}": throw unpaired("}", "{", "%7D")
                case "]": throw unpaired("]", "[", "%5D")
                default:
                    skipEscape(of: "{}[]")
                    if let scalar = rest.popFirst() { literal.append(scalar) }
                }
            }
            return literal.isEmpty ? nil : .literal(String(literal))
        }

        private mutating func list() throws(URLArgument.Invalid) -> Part {
            rest = rest.dropFirst()
            let name = takeName()
            var texts = [String.UnicodeScalarView()]
            while let scalar = rest.first {
                switch scalar {
                case "}":
                    rest = rest.dropFirst()
                    return .list(texts.map { String($0) }, name: name)
                case "{", "[", "]":
                    throw URLArgument.Invalid(text, "braces cannot contain \(scalar); add -g if they are literal")
                case ",":
                    texts.append(String.UnicodeScalarView())
                    rest = rest.dropFirst()
                default:
                    skipEscape(of: "{,}[]")
                    if let scalar = rest.popFirst() { texts[texts.count - 1].append(scalar) }
                }
            }
            throw unpaired("{", "}", "%7B")
        }

        /// The range between two brackets; nil if it is none, such as the address of a host.
        private func range(_ contents: Substring.UnicodeScalarView) throws(URLArgument.Invalid) -> Part? {
            let (name, contents) = URLGlob.name(contents) ?? (nil, contents)
            let form = /([0-9]+|[A-Za-z])-([0-9]+|[A-Za-z])(?::([0-9]+))?/
            guard let match = Substring(contents).wholeMatch(of: form) else { return nil }
            let invalid = URLArgument.Invalid(text, "[\(Substring(contents))] is not a range; add -g if it is literal")
            let step = match.3.map { Int($0) ?? 0 } ?? 1
            guard step > 0 else { throw invalid }
            if let first = match.1.utf8.first, let last = match.2.utf8.first, first > 0x39, last > 0x39 {
                guard first <= last, (first < 0x60) == (last < 0x60) else { throw invalid }
                return .letters(first: first, count: Int(last - first) / step + 1, step: step, name: name)
            }
            guard let first = Int(match.1), let last = Int(match.2), first <= last, last < Int.max else {
                throw invalid
            }
            let width = match.1.utf8.first == UInt8(ascii: "0") ? match.1.utf8.count : 0
            return .numbers(first: first, count: (last - first) / step + 1, step: step, width: width, name: name)
        }

        private mutating func takeName() -> String? {
            guard let (name, rest) = URLGlob.name(rest) else { return nil }
            self.rest = rest
            return name
        }

        /// Skips the backslash before one of some scalars.
        private mutating func skipEscape(of scalars: String) {
            let following = rest.dropFirst()
            if rest.first == "\\", let next = following.first, scalars.unicodeScalars.contains(next) {
                rest = following
            }
        }

        private func unpaired(_ bracket: String, _ other: String, _ escape: String) -> URLArgument.Invalid {
            URLArgument.Invalid(text, "\(bracket) has no \(other); add -g if it is literal, or write it as \(escape)")
        }
    }
}
