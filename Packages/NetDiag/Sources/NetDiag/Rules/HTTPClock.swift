internal import HTTPMessage

/// Times as HTTP writes them.
enum HTTPClock {
    /// Seconds since 1970 in `text`; nil if it is no date.
    static func seconds(_ text: String) -> Int64? { HTTPDate(text)?.secondsSinceEpoch }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int64) -> String { "\(HTTPDate(secondsSinceEpoch: seconds))" }
}
