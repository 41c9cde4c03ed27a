internal import Glibc

/// A POSIX extended regular expression for a whole key (regex(7)).
final class KeyPattern: @unchecked Sendable {
    // Any thread may execute an expression, which does not change it.
    private var expression = regex_t()

    /// Compiles a pattern. Nil if it is invalid.
    init?(_ text: String) {
        guard !text.utf8.contains(0), regcomp(&expression, text, REG_EXTENDED) == 0 else { return nil }
    }

    deinit { regfree(&expression) }

    /// Whether the pattern matches a whole key. Of several matches from the same place, POSIX finds the longest.
    func matches(_ key: String) -> Bool {
        var match = regmatch_t()
        return regexec(&expression, key, 1, &match, 0) == 0 && match.rm_so == 0 && Int(match.rm_eo) == key.utf8.count
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
