/// Sanitizes text from the network so that it can be shown, logged and forwarded: removes secrets and escapes control
/// characters.
///
/// All text in findings has passed through it, so callers need not sanitize findings again.
enum PublicText {
    /// The maximum number of characters that are kept.
    static let maximumLength = 400

    /// Returns `text` on one line, cut to ``maximumLength`` characters. Credentials, URL queries and tokens are replaced by `…`;
    /// control characters are escaped.
    static func of(_ text: String) -> String {
        escaped(redacted(text))
    }

    // MARK: Terminals

    /// Replaces control characters, and format characters, which can reverse the direction of text, by `\u{…}`.
    private static func escaped(_ text: String) -> String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(maximumLength) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return text.unicodeScalars.count > maximumLength ? shown + "…" : shown
    }

    // MARK: Secrets

    /// Header fields whose values are secret.
    private static let secretFields: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "authentication-info",
    ]
    /// Words that precede a credential.
    private static let schemes: Set<String> = ["basic", "bearer", "digest", "negotiate", "ntlm", "token"]
    /// Parts of parameter names whose values are secret.
    private static let secretNames = [
        "token", "pass", "pwd", "secret", "key", "auth", "sig", "session", "sid", "cred", "code", "user",
    ]

    // By scalars: a delimiter beside a combining mark is part of another `Character`, and the secret behind it would be shown.

    private static func redacted(_ text: String) -> String {
        var words = text.unicodeScalars.split(separator: " ", omittingEmptySubsequences: false).map { String($0) }
        var index = 0
        while index < words.count {
            let word = words[index]
            let name = word.lowercased()
            if name.unicodeScalars.last == ":", secretFields.contains(letters(name)) {
                return (words[...index] + ["…"]).joined(separator: " ")
            }
            if schemes.contains(letters(name)), index + 1 < words.count, isToken(words[index + 1]) {
                words[index + 1] = "…"
            } else if let separator = word.unicodeScalars.firstRange(of: "://".unicodeScalars) {
                words[index] = redactedURL(word.unicodeScalars, separator)
            } else if word.unicodeScalars.contains("=") {
                words[index] = redactedParameters(word)
            }
            index += 1
        }
        return words.joined(separator: " ")
    }

    private static func letters(_ word: String) -> String {
        let isLetter = { (scalar: Unicode.Scalar) in scalar.properties.isAlphabetic }
        return String(word.unicodeScalars.drop { !isLetter($0) }.prefix { isLetter($0) || $0 == "-" })
    }

    /// Whether a word may be a credential: at least 8 characters of base64 (RFC 4648 §4 and §5) or a JSON web token.
    private static func isToken(_ word: String) -> Bool {
        word.utf8.count >= 8 && !word.contains("=\"")
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="),
                    UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }

    /// Removes user and password from a URL, and replaces query and fragment by `?…`.
    private static func redactedURL(_ word: String.UnicodeScalarView, _ separator: Range<String.Index>) -> String {
        let rest = word[separator.upperBound...]
        let authority = rest.prefix { !"/?#".unicodeScalars.contains($0) }
        let host = authority.lastIndex { $0 == "@" }.map { authority[authority.index(after: $0)...] } ?? authority
        let path = rest[authority.endIndex...].prefix { $0 != "?" && $0 != "#" }
        let behind = rest[path.endIndex...]
        let end = behind.suffix(behind.reversed().prefix { ".,;:)\"”’'".unicodeScalars.contains($0) }.count)
        let start = String(word[..<separator.upperBound]) + String(host) + String(path)
        return start + (behind.count > end.count ? "?…" : "") + String(end)
    }

    /// Replaces the values of `name=value` parameters whose names contain one of ``secretNames``.
    private static func redactedParameters(_ word: String) -> String {
        var parts = word.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false).map { String($0) }
        for (index, part) in parts.enumerated() {
            guard let equals = part.unicodeScalars.firstIndex(of: "=") else { continue }
            let name = part[..<equals].lowercased()
            if secretNames.contains(where: name.contains) { parts[index] = "\(part[..<equals])=…" }
        }
        return parts.joined(separator: "&")
    }
}
