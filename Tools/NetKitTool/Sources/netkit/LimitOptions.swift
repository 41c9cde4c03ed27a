import ArgumentParser
import NetKit

/// The options of `netkit get` for limits of time and rate, and for retries.
struct LimitOptions: ParsableArguments {
    @Option(
        name: [.customLong("timeout"), .customShort("m"), .customLong("max-time")],
        help: ArgumentHelp("Give up after SECONDS in total, for each URL.", valueName: "SECONDS"))
    var timeout: Double?

    @OptionGroup var pace: PaceOptions

    @Option(
        help: ArgumentHelp(
            "Give up if nothing is received, or nothing can be sent, for SECONDS. Default: 75 for the response head.",
            valueName: "SECONDS"))
    var stallTimeout: Double?

    @Option(
        name: .customLong("max-filesize"),
        help: ArgumentHelp(
            "Refuse a file of more than BYTES, such as 500k or 2M, once that is known.", valueName: "BYTES"))
    var maximumFileSize: String?

    @Option(
        help: ArgumentHelp(
            "Send the request again up to NUMBER times after temporary failures (GET, HEAD, PUT, DELETE).",
            valueName: "NUMBER"))
    var retry: Int?

    /// The given options that do not apply to FTP.
    var httpNames: [String] {
        [
            ("--connect-timeout", pace.connectTimeout != nil), ("--stall-timeout", stallTimeout != nil),
            ("--limit-rate", pace.limitRate != nil), ("--retry", retry != nil),
        ].filter(\.1).map(\.0)
    }

    func validate() throws {
        try TimeLimit.check(timeout)
        try TimeLimit.check(stallTimeout, of: "--stall-timeout")
        _ = try maximumSize()
        if let retry, !(0...1000).contains(retry) { throw ValidationError("--retry must be a number from 0 to 1000.") }
    }

    /// The most bytes of a file; nil for no limit.
    func maximumSize() throws -> Int64? {
        try maximumFileSize.map { try ByteCount.parse($0, of: "--max-filesize") }
    }

    /// Sets the limits of a session.
    func apply(to configuration: inout HTTPSession.Configuration) {
        if let timeout {
            configuration.options.totalTimeout = .seconds(timeout)
            configuration.options.connection[.openTimeout] = .seconds(timeout)
        }
        if let connectTimeout = pace.connectTimeout {
            configuration.options.connection[.openTimeout] = .seconds(min(connectTimeout, timeout ?? connectTimeout))
        }
        if let stallTimeout {
            configuration.options.responseTimeout = .seconds(stallTimeout)
            configuration.options.connection[.writeTimeout] = .seconds(stallTimeout)
        }
        if let retry { configuration.retries = RetryPolicy(maximumRetries: retry) }
    }
}

/// The limits that `get` and `put` share: of the time to connect, and of the rate.
struct PaceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Give up if no connection is made in SECONDS. Default: 75.", valueName: "SECONDS"))
    var connectTimeout: Double?

    @Option(
        help: ArgumentHelp(
            "Transfer at most BYTES per second, such as 500k or 2M, for each URL and direction.", valueName: "BYTES"))
    var limitRate: String?

    func validate() throws {
        try TimeLimit.check(connectTimeout, of: "--connect-timeout")
        _ = try rate()
    }

    /// The greatest rate in bytes per second; nil for no limit.
    func rate() throws -> Int64? {
        try limitRate.map { try ByteCount.parse($0, of: "--limit-rate") }
    }
}

/// The values of options for numbers of bytes.
enum ByteCount {
    /// - Throws: `ValidationError` unless the text is a number from 1 to 1024G, also with k, M or G.
    static func parse(_ text: String, of option: String) throws -> Int64 {
        let unit: Int64? =
            switch text.utf8.last {
            case UInt8(ascii: "k"), UInt8(ascii: "K"): 1 << 10
            case UInt8(ascii: "m"), UInt8(ascii: "M"): 1 << 20
            case UInt8(ascii: "g"), UInt8(ascii: "G"): 1 << 30
            default: nil
            }
        let digits = unit == nil ? Substring(text) : text.dropLast()
        guard let number = Int64(digits), number > 0, number <= (1 << 40) / (unit ?? 1) else {
            throw ValidationError("\(option) must be a number of bytes from 1 to 1024G, also with k, M or G.")
        }
        return number * (unit ?? 1)
    }
}

/// The pauses that keep a transfer below a rate.
///
/// The transfer may fall behind, but does not catch up: after a pause of the peer it continues at the rate.
struct RateLimit: Sendable {
    private let rate: Double
    /// The instant, in seconds, at which the bytes so far are due at the rate.
    private var due: Double?

    /// - Parameter rate: the greatest number of bytes per second.
    init(rate: Int64) { self.rate = Double(rate) }

    /// The number of bytes to move at once: a tenth of a second's.
    var pieceSize: Int { max(1, min(ReadStream.chunkSize, Int(rate / 10))) }

    /// Returns the time to wait after a number of bytes.
    ///
    /// - Parameter now: the time in seconds, by any clock that never goes back.
    mutating func pause(after count: Int, now: Double) -> Duration {
        due = max(due ?? now, now) + Double(count) / rate
        return .seconds((due ?? now) - now)
    }
}
