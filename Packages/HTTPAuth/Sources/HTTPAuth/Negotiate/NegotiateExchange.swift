/// One exchange of Negotiate, shared by the copies of its scheme: its steps run on threads that may wait.
///
/// GSSAPI's contexts may be used by one thread at a time, whichever it is. The lock is held for a whole step; a scheme
/// never has two at work, except when the one before was given up at its time limit.
final class NegotiateExchange: @unchecked Sendable {
    // The machine is touched within `withLock` only, and came in as `sending`.
    private let machine: Locked<SPNEGOMachine>

    init(_ mechanisms: sending [any SecurityMechanism]) {
        machine = Locked(SPNEGOMachine(mechanisms))
    }

    /// The first token.
    func start() throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let token = try machine.start()
            return BlockingWork.Output(bytes: token, isComplete: false)
        }
    }

    /// The next token, empty if there is none.
    func receive(_ token: [UInt8]) throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let answer = try machine.receive(token)
            return BlockingWork.Output(bytes: answer ?? [], isComplete: machine.isComplete)
        }
    }

    /// Whether the server has proven itself.
    var isServerProven: Bool { machine.withLock { $0.isServerProven } }
}
