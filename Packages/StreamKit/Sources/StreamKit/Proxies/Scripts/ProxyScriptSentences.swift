/// The catalogue of messages about proxy scripts.
extension Sentence {
    static func scriptTooLarge(_ limit: Int) -> Sentence {
        Sentence("script.size", "The proxy script is larger than the limit of %1 bytes.", String(limit))
    }

    static let scriptNeedsHost = Sentence(
        "script.host", "The URL has no host, so no proxy script can decide about it.")

    static func scriptNotLocal(_ url: String) -> Sentence {
        Sentence(
            "script.elsewhere",
            "The proxy script at %1 must be loaded first; NetKit does that for http and https.",
            url)
    }

    static func scriptUnreadable(_ reason: String) -> Sentence {
        Sentence("script.unreadable", "The proxy script cannot be read: %1.", trimmed(reason))
    }

    static func scriptFailed(_ reason: String) -> Sentence {
        Sentence("script.failed", "The proxy script failed: %1.", trimmed(reason))
    }

    static let scriptEndedEarly = Sentence(
        "script.died", "The proxy script ended without an answer: it crashed, or exceeded a limit.")

    static let scriptNotStarted = Sentence(
        "script.notStarted", "The helper process for the proxy script ended before it was ready.")

    static func scriptNamesTooMany(_ limit: Int) -> Sentence {
        Sentence("script.names", "The proxy script looked up more than %1 names.", String(limit))
    }

    static func scriptTooSlow(_ limit: Duration) -> Sentence {
        Sentence("script.slow", "The proxy script exceeded its time limit of %1 and was ended.", "\(limit)")
    }

    static func scriptAnswerTooLong(_ limit: Int) -> Sentence {
        Sentence("script.long", "The proxy script's answer is longer than the limit of %1 bytes.", String(limit))
    }

    static func scriptAnswerTooMany(_ limit: Int) -> Sentence {
        Sentence("script.many", "The proxy script named more than %1 proxies.", String(limit))
    }

    static func scriptAnswerUnknown(_ entry: String) -> Sentence {
        Sentence("script.answer", "The proxy script answered “%1”, which names no proxy.", trimmed(entry))
    }

    /// The readable part of a text from a script: one line, at most 200 characters.
    private static func trimmed(_ text: String) -> String {
        let words = text.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
        let shown = words.unicodeScalars.prefix(200).map { scalar in
            scalar.properties.generalCategory == .control ? "?" : String(scalar)
        }
        let line = shown.joined() + (words.unicodeScalars.count > 200 ? "…" : "")
        return line.isEmpty ? "it gave no reason" : line.hasSuffix(".") ? String(line.dropLast()) : line
    }
}

extension StreamError {
    /// `kCFErrorPACFileError`; CFStream has no number of its own for this error.
    static func script(_ sentence: Sentence, underlying: (any Error)? = nil) -> StreamError {
        StreamError(domain: .http, code: 308, sentence: sentence, underlying: underlying)
    }

    static func scriptsUnavailable(_ reason: String) -> StreamError {
        .script(
            Sentence(
                "script.library",
                "Proxy scripts cannot be run (%1). Install libpacparser, which is in the Debian package libpacparser1.",
                reason))
    }
}
