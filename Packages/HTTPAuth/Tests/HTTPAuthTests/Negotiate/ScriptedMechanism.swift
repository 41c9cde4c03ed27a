@testable import HTTPAuth

/// A mechanism that returns scripted tokens in order and is then complete.
final class ScriptedMechanism: SecurityMechanism {
    let identifier: MechanismIdentifier
    private var answers: [[UInt8]?]
    private(set) var received: [[UInt8]?] = []
    private let failure: HTTPAuthError?
    var alwaysSigns = false
    private(set) var isServerProven = false

    init(_ identifier: MechanismIdentifier, _ answers: [UInt8]?..., failure: HTTPAuthError? = nil) {
        self.identifier = identifier
        self.answers = answers
        self.failure = failure
    }

    var isComplete: Bool { answers.isEmpty }

    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]? {
        received.append(token)
        if let failure { throw failure }
        guard !answers.isEmpty else { throw HTTPAuthError(.outOfOrder) }
        return answers.removeFirst()
    }

    static let clientKey: UInt8 = 0xc0
    static let serverKey: UInt8 = 0x5e

    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8] { [ScriptedMechanism.clientKey] + list }

    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError) {
        guard signature == [ScriptedMechanism.serverKey] + list else { throw HTTPAuthError(.serverNotAuthentic) }
        isServerProven = true
    }
}
