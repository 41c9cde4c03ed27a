/// NTLM as a SPNEGO mechanism: the three messages, and signatures of the mechanism list.
final class NTLMMechanism: SecurityMechanism {
    let identifier = MechanismIdentifier.ntlm
    private(set) var isComplete = false
    private(set) var isServerProven = false
    private var machine: NTLMMachine
    private let time: UInt64
    private var random: [UInt8]

    init(_ machine: NTLMMachine, time: UInt64, random: [UInt8]) {
        self.machine = machine
        self.time = time
        self.random = random
    }

    deinit {
        random.wipe()
    }

    var alwaysSigns: Bool { machine.session != nil }

    func step(_ token: [UInt8]?) throws(HTTPAuthError) -> [UInt8]? {
        guard let token else { return machine.start() }
        let answer = try machine.answer(token, time: time, random: random)
        isComplete = true
        return answer
    }

    func signature(of list: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        guard let session = machine.session else { throw .ntlmUnsupported("the server does not support signing") }
        return try session.signature(of: list, by: .client)
    }

    func check(_ signature: [UInt8], of list: [UInt8]) throws(HTTPAuthError) {
        guard let session = machine.session, try session.signature(of: list, by: .server) == signature else {
            throw .negotiate(.serverNotAuthentic, "wrong signature of the mechanism list")
        }
        isServerProven = true
    }
}
