/// The default time limits of FTP.
///
/// When the caller reads from or writes to a stream, the wait has no limit unless `StreamProperty.readTimeout` or
/// `StreamProperty.writeTimeout` sets one. Every other wait has one of these limits.
package enum FTPTimeLimits {
    /// The default of ``FTPOptions/replyTimeout``: 60 s for one command.
    package static let reply = Duration.seconds(60)

    /// The silence of an `ftps` server on another port than 990 that means it expects TLS from the first byte: 5 s. Without it, the
    /// server greets in plaintext, and AUTH TLS follows. If it answers TLS with a late greeting, the session begins again, with AUTH
    /// TLS.
    package static let silence = Duration.seconds(5)

    /// The default of ``FTPOptions/keepAlive``: 60 s.
    package static let keepAlive = Duration.seconds(60)

    /// The longest time without data on a data connection in ``FTPClient/list(_:)``, ``FTPClient/entries(_:)``,
    /// ``FTPClient/download(_:to:_:)`` and ``FTPClient/upload(_:to:_:)``, unless `StreamProperty.readTimeout` or
    /// `StreamProperty.writeTimeout` is set on the client: 60 s.
    package static let idleData = Duration.seconds(60)

    /// The time that the port of EPSV has to accept the data connection before PASV is tried: 5 s, and at most a quarter of
    /// ``FTPOptions/replyTimeout``. Firewalls that understand only PASV drop the connection without a word.
    package static let extendedPassive = Duration.seconds(5)

    /// The time that the data of a transfer has to begin or end after the server has confirmed it: 5 s, and at most a quarter of
    /// ``FTPOptions/replyTimeout``. Some servers confirm a transfer and never serve its data connection; the error is
    /// ``FTPError/Code/incomplete``.
    static let confirmedData = Duration.seconds(5)

    /// The time that the server has to state the reason after the data connection has failed: 5 s, and at most ``FTPOptions/replyTimeout``.
    package static let cause = Duration.seconds(5)

    /// The time that the server has to confirm the end of a session (QUIT) in ``FTPClient/close()``: 2 s.
    package static let quit = Duration.seconds(2)

    /// The time limit for the resynchronization of a session after an aborted transfer; then the session is closed: 15 s.
    static let recovery = Duration.seconds(15)
}

/// The limits of ``FTPTimeLimits`` after which a session takes another way, or gives up what the server has confirmed.
struct FTPTurningPoints: Sendable {
    var silence = FTPTimeLimits.silence
    var extendedPassive = FTPTimeLimits.extendedPassive
    var confirmedData = FTPTimeLimits.confirmedData
}
