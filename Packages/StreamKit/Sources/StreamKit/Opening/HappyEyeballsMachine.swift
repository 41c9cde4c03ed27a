internal import EventLoops
internal import HostResolver

/// Which address to try when: RFC 8305, without sockets and without a clock.
///
/// Addresses come in as the lookup finds them. IPv6 and IPv4 alternate, beginning with the family that the lookup put
/// first; if only IPv4 has answered, IPv6 gets another 50 ms (§3). The next attempt begins when the last one fails, or
/// after the attempt delay, beside those still under way (§5). The first to succeed wins.
struct HappyEyeballsMachine {
    enum Action: Equatable {
        /// Begin to connect to this address; tell the outcome under its number.
        case attempt(Int, SocketAddress)
        /// Nothing to do until something is told, or until this time.
        case wait(until: Moment?)
        /// This attempt has won; give up the others.
        case connected(Int)
        /// Every address has failed, or there was none.
        case failed
    }

    /// How long IPv6 may lag behind IPv4 (§3, "Resolution Delay").
    static let resolutionDelay: Duration = .milliseconds(50)

    private let attemptDelay: Duration
    private var candidates: [SocketAddress] = []
    private var known: Set<SocketAddress> = []
    private var lastFamily: CInt?
    private var attempts = 0
    private var underway: Set<Int> = []
    private var winner: Int?
    private var lastStart: Moment?
    private var firstAnswer: Moment?
    private var answered: AddressFamilies = []
    private var isLookupOver = false

    init(attemptDelay: Duration = .milliseconds(250)) {
        self.attemptDelay = attemptDelay
    }

    /// More addresses, best first.
    mutating func receive(_ addresses: [SocketAddress], families: AddressFamilies, now: Moment) {
        answered.formUnion(families)
        if !addresses.isEmpty, firstAnswer == nil { firstAnswer = now }
        candidates.append(contentsOf: addresses.filter { known.insert($0).inserted })
    }

    /// No more addresses will come.
    mutating func lookupEnded() {
        isLookupOver = true
    }

    mutating func attemptFailed(_ number: Int) {
        // The next address need not wait any longer (§5).
        if underway.remove(number) != nil { lastStart = nil }
    }

    mutating func attemptSucceeded(_ number: Int) {
        if winner == nil, underway.contains(number) { winner = number }
    }

    mutating func next(now: Moment) -> Action {
        if let winner { return .connected(winner) }
        if candidates.isEmpty {
            return underway.isEmpty && isLookupOver ? .failed : .wait(until: nil)
        }
        if let delayEnd = resolutionDelayEnd, now < delayEnd { return .wait(until: delayEnd) }
        if let lastStart, now < lastStart + attemptDelay { return .wait(until: lastStart + attemptDelay) }
        let address = takeCandidate()
        attempts += 1
        underway.insert(attempts)
        lastStart = now
        lastFamily = address.family
        return .attempt(attempts, address)
    }

    /// While nothing has been tried and IPv6 has not answered.
    private var resolutionDelayEnd: Moment? {
        guard attempts == 0, !isLookupOver, !answered.contains(.v6), let firstAnswer else { return nil }
        guard !candidates.contains(where: { if case .ip(.v6, _) = $0 { true } else { false } }) else { return nil }
        return firstAnswer + HappyEyeballsMachine.resolutionDelay
    }

    /// The best of the other family than last time, else the best.
    private mutating func takeCandidate() -> SocketAddress {
        let index = lastFamily.flatMap { last in candidates.firstIndex { $0.family != last } } ?? 0
        return candidates.remove(at: index)
    }
}
