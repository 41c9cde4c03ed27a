internal import HTTPMessage

/// Dates in the format of HTTP (RFC 9110 §5.6.7).
enum HTTPClock {
    /// The date in `text`, in seconds since 1970; nil if it is not a date.
    static func seconds(_ text: String) -> Int64? { HTTPDate(text)?.secondsSinceEpoch }

    /// Formats a date: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int64) -> String { "\(HTTPDate(secondsSinceEpoch: seconds))" }
}
