import HTTPAuth

/// A scheme controlled by a test: a number of legs, blocking work, or a failure to start.
struct ScriptedScheme: AuthenticationScheme {
    var traits = SchemeTraits(requiresUserNameAndPassword: false)
    var name = "Script"
    var startFailure: HTTPAuthError?
    var respondFailure: HTTPAuthError?
    var work: (@Sendable () -> Result<BlockingWork.Output, HTTPAuthError>)?
    var realm: String?
    private var leg = 0

    init(_ name: String) {
        self.name = name
    }

    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict {
        if let startFailure { throw startFailure }
        realm = challenge["realm"]
        if sent == nil { return .fresh }
        return challenge.token == nil ? .refused : .continues
    }

    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        if let respondFailure { throw respondFailure }
        if let work { return .work(BlockingWork(work)) }
        leg += 1
        return .send(Array("\(name) leg\(leg)".utf8))
    }

    mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep {
        .send(Array("\(name) ".utf8) + output.bytes)
    }

    mutating func disconnected() { leg = 0 }

    /// Returns a method of this name whose conversations the test configures.
    static func method(
        _ name: String = "Script", _ change: @escaping @Sendable (inout ScriptedScheme) -> Void = { _ in }
    ) -> AuthenticationMethod {
        AuthenticationMethod(name) { _ in
            var scheme = ScriptedScheme(name)
            change(&scheme)
            return scheme
        }
    }
}
