internal import StreamKit

/// The time limits of a conversation, and the timers that end its waits.
struct FTPTimers: Sendable {
    private typealias Limit = (instant: Moment, timer: LoopTimer)

    private let options: FTPOptions
    private let loop: EventLoop
    /// Ends every wait.
    private let wake: @Sendable () -> Void
    /// Called when a NOOP is due; nil after ``end()``.
    private var onKeepAlive: (@Sendable () -> Void)?
    /// The time limit of the current command.
    private var command: Limit?
    /// When silence means that the server expects TLS from the first byte; nil if it cannot mean that, or TLS has begun.
    private var silence: Limit?
    /// The timer of the next NOOP.
    private var keepAlive: LoopTimer?

    init(
        _ options: FTPOptions, loop: EventLoop, wake: @escaping @Sendable () -> Void,
        onKeepAlive: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.loop = loop
        self.wake = wake
        self.onKeepAlive = onKeepAlive
    }

    /// The end of the current command's time; nil for none.
    var deadline: Moment? { command?.instant }

    /// Whether the time of the current command is over.
    var haveEnded: Bool { deadline.map { Moment.now >= $0 } ?? false }

    /// Whether neither a command nor silence has a limit now.
    var areStopped: Bool { command == nil && silence == nil }

    /// Starts the time limit of one command: until its last reply, regardless of preliminary replies and received bytes. Stops all other
    /// limits.
    ///
    /// - Parameter shorter: a limit that applies in addition.
    mutating func startCommand(within shorter: Duration? = nil) {
        stop()
        let limits = [options.replyTimeout > .zero ? options.replyTimeout : nil, shorter].compactMap(\.self)
        if let limit = limits.min() { command = start(limit) }
    }

    /// Starts the time after which silence means that the server expects TLS.
    mutating func startSilence() { silence = start(options.turningPoints.silence) }

    /// Ends the time of ``startSilence()`` if it is over. Returns whether it is.
    mutating func endSilence() -> Bool {
        guard let end = silence, Moment.now >= end.instant else { return false }
        silence = nil
        return true
    }

    private func start(_ limit: Duration) -> Limit {
        let instant = Moment.now + limit
        return (instant, loop.schedule(at: instant, wake))
    }

    /// Stops the limits of a command and of silence.
    mutating func stop() {
        silence.take()?.timer.cancel()
        command.take()?.timer.cancel()
    }

    /// Starts the time until the next NOOP.
    mutating func startKeepAlive() {
        guard options.keepAlive > .zero, let onKeepAlive else { return }
        keepAlive = loop.schedule(at: .now + options.keepAlive, onKeepAlive)
    }

    mutating func stopKeepAlive() { keepAlive.take()?.cancel() }

    /// Stops all timers, and releases what they call.
    mutating func end() {
        stop()
        stopKeepAlive()
        onKeepAlive = nil
    }
}

extension FTPOptions {
    /// The time for a data connection to the port of EPSV, if PASV is left to try.
    var extendedPassiveTimeout: Duration { limited(turningPoints.extendedPassive) }

    /// The time for the first byte or the end of data that the server has confirmed.
    var confirmedDataTimeout: Duration { limited(turningPoints.confirmedData) }

    /// A time limit within that of a command.
    private func limited(_ limit: Duration) -> Duration { replyTimeout > .zero ? min(limit, replyTimeout / 4) : limit }
}
