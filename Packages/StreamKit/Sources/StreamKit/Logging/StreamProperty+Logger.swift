#if Logging
public import Logging

extension StreamProperty where Value == Logger {
    /// The logger of each step of opening as it ends: lookups, addresses tried, proxies, TLS.
    ///
    /// ```swift
    /// var logger = Logger(label: "mail")
    /// logger.logLevel = .debug
    /// try pair.set(.logger, to: logger)
    /// try pair.open()
    /// // debug mail: connect 192.0.2.7:993: connected  step=connect target=192.0.2.7:993 outcome=succeeded milliseconds=11.8
    /// ```
    ///
    /// Failures have the level `info`, since a connection may succeed with another address; everything else has
    /// `debug`. User names, passwords, and data sent or received are never logged. HTTP, FTP and sessions pass the
    /// logger on to each connection.
    ///
    /// The logger is called on the threads that open the stream, and should not use that stream itself. Requires the
    /// trait `Logging`.
    public static var logger: Self { .init(setting: "StreamKit.logger", access: .beforeOpen) }
}
#endif
