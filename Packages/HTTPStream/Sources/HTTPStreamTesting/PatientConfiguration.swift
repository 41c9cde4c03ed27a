package import HTTPStream

extension HTTPServer.Configuration {
    /// The defaults, with time limits of waits for requests and responses that no client exceeds, however slow the machine or the debugger
    /// makes it: for tests of anything else.
    package static var patient: HTTPServer.Configuration {
        var configuration = HTTPServer.Configuration()
        let limits: [WritableKeyPath<HTTPServer.Configuration, Duration>] = [
            \.headTimeout, \.idleTimeout, \.bodyTimeout, \.writeTimeout, \.halfClosedTimeout,
        ]
        for limit in limits { configuration[keyPath: limit] = .seconds(24 * 3600) }
        return configuration
    }
}
