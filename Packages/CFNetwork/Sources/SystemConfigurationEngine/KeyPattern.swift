/// A POSIX extended regular expression for a whole key (regex(7)).
///
/// Theory of operation. The expression becomes a program, whose instructions accept a character, jump, or branch. A key is matched by
/// following all paths of the program at once, one character of the key after the other. The time is therefore at most proportional
/// to the size of the key times the places of the program, which have a limit. The C library's `regcomp` needs exponential time for nested
/// repetitions, and its `regexec` quadratic time for a key.
///
/// POSIX leaves several forms undefined. A repetition of a repetition (`a**`), an empty alternative (`a||b`) and an empty group are
/// accepted, and mean what they mean for the C library. The others are invalid: a back-reference, `\` before a letter or digit, a
/// repetition of nothing, `{,2}`, and in brackets a range whose end is a class, an equivalence class or the end of another range.
struct KeyPattern: Sendable {
    /// The maximum size of an expression, in bytes.
    static let maximumSize = 1024
    /// The maximum depth of groups.
    static let maximumDepth = 32
    /// The maximum bound of an interval, as `a{255}` (POSIX, RE_DUP_MAX).
    static let maximumRepetition = 255
    /// The maximum number of places in the program: one for each character, each range in brackets, and each `+` and `?`; two for each `*` and
    /// `|`. An interval has those of the operands, `?`, `*` and `+` that it stands for: `a{1,2}` is `a` and `a?`, `a{2,}` is `a` and `a+`.
    static let maximumPlaces = 2048

    /// An instruction. Targets are relative to it; the end of the program accepts the key.
    fileprivate enum Instruction: Sendable {
        case accept(ScalarSet)
        case jump(Int)
        case branch(Int, Int)
        /// Continues at the beginning of the key.
        case atBeginning
        /// Continues at the end of the key.
        case atEnd
    }

    private let program: [Instruction]
    /// Compiles an expression. Nil if it is invalid or exceeds a limit.
    init?(_ text: String) {
        guard text.utf8.count <= Self.maximumSize, !text.utf8.contains(0) else { return nil }
        var parser = Parser(text: Array(text.unicodeScalars))
        do throws(Invalid) {
            program = try parser.alternatives(depth: 0).instructions
        } catch {
            return nil
        }
    }

    /// Whether the expression matches a whole key.
    func matches(_ key: String) -> Bool {
        let scalars = Array(key.unicodeScalars)
        var current = Places(count: program.count)
        var next = Places(count: program.count)
        follow(0, at: 0, of: scalars.count, &current)
        for (index, scalar) in scalars.enumerated() {
            if current.places.isEmpty { return false }
            for place in current.places {
                guard place < program.count, case .accept(let set) = program[place], set.contains(scalar) else {
                    continue
                }
                follow(place + 1, at: index + 1, of: scalars.count, &next)
            }
            swap(&current, &next)
            next.removeAll()
        }
        return current.places.contains(program.count)
    }

    /// Adds a place of the program, and those that it leads to without a character.
    private func follow(_ place: Int, at index: Int, of count: Int, _ reached: inout Places) {
        var rest = [place]
        while let place = rest.popLast() {
            guard reached.insert(place), place < program.count else { continue }
            switch program[place] {
            case .accept: break
            case .jump(let target): rest.append(place + target)
            case .branch(let one, let other): rest += [place + other, place + one]
            case .atBeginning: if index == 0 { rest.append(place + 1) }
            case .atEnd: if index == count { rest.append(place + 1) }
            }
        }
    }

    /// A set of places in the program.
    private struct Places {
        private(set) var places: [Int] = []
        private var isReached: [Bool]

        init(count: Int) { isReached = Array(repeating: false, count: count + 1) }

        /// Adds a place; false if it was there.
        mutating func insert(_ place: Int) -> Bool {
            if isReached[place] { return false }
            isReached[place] = true
            places.append(place)
            return true
        }

        mutating func removeAll() {
            for place in places { isReached[place] = false }
            places.removeAll(keepingCapacity: true)
        }
    }
}

/// The characters that one place of an expression accepts.
private struct ScalarSet: Sendable {
    var isInverted = false
    var ranges: [ClosedRange<Unicode.Scalar>] = []

    /// `.`: all characters.
    static let all = ScalarSet(isInverted: true)

    func contains(_ scalar: Unicode.Scalar) -> Bool { ranges.contains { $0.contains(scalar) } != isInverted }

    /// The characters of classes in the POSIX locale.
    static let classes: [String: [ClosedRange<Unicode.Scalar>]] = [
        "alpha": ["A"..."Z", "a"..."z"], "digit": ["0"..."9"], "alnum": ["A"..."Z", "a"..."z", "0"..."9"],
        "upper": ["A"..."Z"], "lower": ["a"..."z"], "space": ["\t"..."\r", " "..." "],
        "blank": ["\t"..."\t", " "..." "],
        "punct": ["!"..."/", ":"..."@", "["..."`", "{"..."~"], "print": [" "..."~"], "graph": ["!"..."~"],
        "cntrl": ["\0"..."\u{1F}", "\u{7F}"..."\u{7F}"], "xdigit": ["0"..."9", "A"..."F", "a"..."f"],
    ]
}

/// The error of an invalid expression.
private struct Invalid: Error {}

/// The program of a part of an expression.
private struct Program {
    private(set) var instructions: [KeyPattern.Instruction] = []
    /// See ``KeyPattern/maximumPlaces``.
    private(set) var places = 0

    init(_ instruction: KeyPattern.Instruction? = nil) {
        guard let instruction else { return }
        instructions = [instruction]
        if case .accept(let set) = instruction { places = max(1, set.ranges.count) } else { places = 1 }
    }

    var count: Int { instructions.count }

    /// Adds another part behind this one.
    mutating func append(_ other: Program) throws(Invalid) {
        places += other.places
        guard places <= KeyPattern.maximumPlaces else { throw Invalid() }
        instructions += other.instructions
    }

    mutating func append(_ instruction: KeyPattern.Instruction) throws(Invalid) { try append(Program(instruction)) }

    /// This part or the other one.
    func or(_ other: Program) throws(Invalid) -> Program {
        var result = Program(.branch(1, count + 2))
        try result.append(self)
        try result.append(.jump(other.count + 1))
        try result.append(other)
        return result
    }

    /// Repetitions of this part; without a most number, there is no limit.
    func repeated(from least: Int, to most: Int?) throws(Invalid) -> Program {
        var result = Program()
        for _ in 0..<least { try result.append(self) }
        if let most {
            for _ in least..<most {
                try result.append(.branch(1, count + 1))
                try result.append(self)
            }
        } else if least > 0 {
            try result.append(.branch(-count, 1))
        } else {
            try result.append(.branch(1, count + 2))
            try result.append(self)
            try result.append(.jump(-count - 1))
        }
        return result
    }
}

/// Translates an expression into a program (POSIX.1-2017, XBD 9.4).
private struct Parser {
    let text: [Unicode.Scalar]
    private var position = 0

    init(text: [Unicode.Scalar]) { self.text = text }

    private var next: Unicode.Scalar? { position < text.count ? text[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard next == scalar else { return false }
        position += 1
        return true
    }

    /// `a|b`, up to the end of the text or of the group.
    mutating func alternatives(depth: Int) throws(Invalid) -> Program {
        guard depth <= KeyPattern.maximumDepth else { throw Invalid() }
        var programs = [try sequence(depth: depth)]
        while take("|") { programs.append(try sequence(depth: depth)) }
        guard depth == 0 ? next == nil : take(")") else { throw Invalid() }
        var result = programs.removeLast()
        for program in programs.reversed() { result = try program.or(result) }
        return result
    }

    private mutating func sequence(depth: Int) throws(Invalid) -> Program {
        var result = Program()
        while let next, next != "|", !(next == ")" && depth > 0) { try result.append(try repeated(depth: depth)) }
        return result
    }

    /// A character or group with its repetitions.
    private mutating func repeated(depth: Int) throws(Invalid) -> Program {
        var (result, isAnchor) = try atom(depth: depth)
        while let bounds = try repetition() {
            if isAnchor { throw Invalid() }
            result = try result.repeated(from: bounds.least, to: bounds.most)
        }
        return result
    }

    /// `*`, `+`, `?` or an interval. Nil for anything else; without a most number, there is no limit.
    private mutating func repetition() throws(Invalid) -> (least: Int, most: Int?)? {
        if take("*") { return (0, nil) }
        if take("+") { return (1, nil) }
        if take("?") { return (0, 1) }
        guard take("{") else { return nil }
        let least = try number()
        var most: Int? = least
        if take(",") { most = next == "}" ? nil : try number() }
        guard take("}"), most ?? least >= least else { throw Invalid() }
        return (least, most)
    }

    private mutating func number() throws(Invalid) -> Int {
        var value: Int?
        while let digit = next, ("0"..."9").contains(digit) {
            position += 1
            value = (value ?? 0) * 10 + Int(digit.value - 0x30)
            guard value ?? 0 <= KeyPattern.maximumRepetition else { throw Invalid() }
        }
        guard let value else { throw Invalid() }
        return value
    }

    private mutating func atom(depth: Int) throws(Invalid) -> (program: Program, isAnchor: Bool) {
        guard let scalar = next else { throw Invalid() }
        position += 1
        switch scalar {
        case "(": return (try alternatives(depth: depth + 1), false)
        case "[": return (Program(.accept(try bracket())), false)
        case ".": return (Program(.accept(.all)), false)
        case "^": return (Program(.atBeginning), true)
        case "$": return (Program(.atEnd), true)
        case "*", "+", "?", "{": throw Invalid()
        case "\\":
            guard let escaped = next, !ScalarSet(ranges: ScalarSet.classes["alnum"] ?? []).contains(escaped) else {
                throw Invalid()
            }
            position += 1
            return (Program(.accept(ScalarSet(ranges: [escaped...escaped]))), false)
        default: return (Program(.accept(ScalarSet(ranges: [scalar...scalar]))), false)
        }
    }

    // MARK: Brackets

    private mutating func bracket() throws(Invalid) -> ScalarSet {
        var set = ScalarSet(isInverted: take("^"))
        repeat {
            if let name = try element(":") {
                guard let ranges = ScalarSet.classes[name] else { throw Invalid() }
                set.ranges += ranges
            } else if let name = try element("=") {
                let scalar = try Self.character(name)
                set.ranges.append(scalar...scalar)
            } else {
                let first = try rangeEnd()
                var last = first
                if isBeforeRangeEnd {
                    position += 1
                    last = try rangeEnd()
                }
                guard first <= last else { throw Invalid() }
                set.ranges.append(first...last)
            }
            // None of these is the beginning of a range.
            if isBeforeRangeEnd { throw Invalid() }
        } while next != "]"
        position += 1
        return set
    }

    /// Whether a `-` follows that is not the last character between the brackets.
    private var isBeforeRangeEnd: Bool { next == "-" && position + 1 < text.count && text[position + 1] != "]" }

    /// A character or collating symbol, which may be an end of a range.
    private mutating func rangeEnd() throws(Invalid) -> Unicode.Scalar {
        if let name = try element(".") { return try Self.character(name) }
        for mark: Unicode.Scalar in [":", "="] where try element(mark) != nil { throw Invalid() }
        guard let scalar = next else { throw Invalid() }
        position += 1
        return scalar
    }

    /// The only character of a name.
    private static func character(_ name: String) throws(Invalid) -> Unicode.Scalar {
        guard let scalar = name.unicodeScalars.first, name.unicodeScalars.count == 1 else { throw Invalid() }
        return scalar
    }

    /// The name of a class `[:alpha:]`, a collating symbol `[.a.]` or an equivalence class `[=a=]`. Nil for anything else.
    private mutating func element(_ mark: Unicode.Scalar) throws(Invalid) -> String? {
        guard next == "[", position + 1 < text.count, text[position + 1] == mark else { return nil }
        position += 2
        var name = String.UnicodeScalarView()
        while let scalar = next, !(scalar == mark && position + 1 < text.count && text[position + 1] == "]") {
            name.append(scalar)
            position += 1
        }
        guard next != nil else { throw Invalid() }
        position += 2
        return String(name)
    }
}

/// A selection of keys: some by name, and those that match patterns.
struct KeySelection: Sendable {
    var keys: Set<String> = []
    var patterns: [KeyPattern] = []

    var isEmpty: Bool { keys.isEmpty && patterns.isEmpty }

    /// Creates a selection.
    ///
    /// - Throws: `invalidArgument` for an invalid pattern.
    init(keys: [String] = [], patterns: [String] = []) throws(Status) {
        self.keys = Set(keys)
        for text in patterns {
            guard let pattern = KeyPattern(text) else { throw .invalidArgument }
            self.patterns.append(pattern)
        }
    }

    func contains(_ key: String) -> Bool { keys.contains(key) || patterns.contains { $0.matches(key) } }
}
