internal import Synchronization

/// The number of consecutive transfers of one half that did not wait, of the ``WaitPoint/transfersPerTurn`` that a turn of the loop has.
///
/// Only the call inside the half counts. The loop's own thread may set the counts of both halves to zero meanwhile, which loses at
/// most one transfer, so relaxed accesses suffice.
struct TransferBudget: ~Copyable, Sendable {
    /// The number of transfers after which the clock is read.
    private static let transfersPerCheck: UInt8 = 8

    private let transfers = Atomic<UInt8>(0)

    /// What is to be done after another transfer has been counted.
    enum Check {
        case nothing
        /// The time may be used up.
        case time
        /// The number of transfers is used up: the count wraps around.
        case number
    }

    func countTransfer() -> Check {
        let next = transfers.load(ordering: .relaxed) &+ 1
        transfers.store(next, ordering: .relaxed)
        if next % TransferBudget.transfersPerCheck != 0 { return .nothing }
        return next == 0 ? .number : .time
    }

    /// Counts transfers up to the last one before the count wraps around.
    func count(_ further: Int) {
        let counted = Int(transfers.load(ordering: .relaxed)) + further
        transfers.store(UInt8(clamping: counted), ordering: .relaxed)
    }

    func restart() { transfers.store(0, ordering: .relaxed) }
}

/// The budgets of both halves.
struct TransferBudgets: ~Copyable, Sendable {
    private let reader = TransferBudget()
    private let writer = TransferBudget()

    subscript(half: WaitHalf) -> TransferBudget {
        _read {
            switch half {
            case .reader: yield reader
            case .writer: yield writer
            }
        }
    }
}
