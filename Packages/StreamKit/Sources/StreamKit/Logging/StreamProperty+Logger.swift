#if Logging
public import Logging

extension StreamProperty where Value == Logger {
    /// Who is told of each step of opening as it ends: lookups, addresses tried, proxies, TLS. With the trait `Logging`.
    ///
    /// ```swift
    /// var logger = Logger(label: "mail")
    /// logger.logLevel = .debug
    /// try pair.set(.logger, to: logger)
    /// try pair.open()
    /// // debug mail: connect 192.0.2.7:993: connected  step=connect target=192.0.2.7:993 outcome=succeeded milliseconds=11.8
    /// ```
    ///
    /// Failures are told at the level `info`, since a connection may succeed by another address; all else at `debug`. User
    /// names, passwords, what is sent and what is received are never told. HTTP, FTP and sessions hand it on to each connection.
    ///
    /// The logger is called on the threads that open the stream, and should not use that stream itself.
    public static var logger: Self { .init(setting: "StreamKit.logger", access: .beforeOpen) }
}
#endif
