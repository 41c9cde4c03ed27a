internal import StreamKit

/// The contract of byte streams, as a test suite for any implementation.
///
/// ```swift
/// @Test(arguments: ByteStreamRule.allCases)
/// func keepsTheContract(_ rule: ByteStreamRule) async throws {
///     let contract = ByteStreamContract { try await myPipe() }
///     try await contract.check(rule)
/// }
/// ```
///
/// Each rule is checked in every ``StreamStyle`` to which it applies, on a new pipe each time. A broken rule throws a
/// ``ContractViolation``. A stream that hangs makes the test hang, so give it a time limit.
public struct ByteStreamContract: Sendable {
    let makePipe: @Sendable () async throws -> BytePipe

    /// The most bytes that the flow may hold between writer and reader; nil if there is no bound.
    let bound: Int?

    /// Makes the suite for one kind of flow.
    ///
    /// - Parameters:
    ///   - bound: a number of bytes that certainly does not fit between writer and reader. Nil if any number fits,
    ///     which omits the rules about writers that wait.
    ///   - makePipe: makes a new flow.
    public init(
        bound: Int? = 64 << 20, _ makePipe: @escaping @Sendable () async throws -> BytePipe
    ) {
        self.bound = bound
        self.makePipe = makePipe
    }

    /// Checks a rule in every style to which it applies.
    ///
    /// - Throws: ``ContractViolation``, and any error of `makePipe`.
    public func check(_ rule: ByteStreamRule) async throws {
        for style in rule.styles { try await check(rule, style) }
    }

    /// Checks a rule in one style.
    ///
    /// - Throws: ``ContractViolation``, and any error of `makePipe`.
    public func check(_ rule: ByteStreamRule, _ style: StreamStyle) async throws {
        let pipe = try await makePipe()
        let trial = ContractTrial(rule: rule, style: style, pipe: pipe, bound: bound)
        do {
            try await run(trial)
        } catch let error as StreamError {
            throw ContractViolation(rule: rule, style: style, observation: "threw \(error.debugDescription)")
        }
        pipe.output.close()
        pipe.leave()
        withExtendedLifetime(pipe) {}
    }

    private func run(_ trial: ContractTrial) async throws {
        switch trial.rule {
        case .everyByteArrivesInOrder: try await trial.everyByteArrivesInOrder()
        case .readsMayBeShort: try await trial.readsMayBeShort()
        case .zeroMeansTheEnd: try await trial.zeroMeansTheEnd()
        case .emptyBufferIsNoEnd: try await trial.emptyBufferIsNoEnd()
        case .statusTellsTheLife: try await trial.statusTellsTheLife()
        case .wrongMomentsThrow: try await trial.wrongMomentsThrow()
        case .secondCallerIsBusy: try await trial.secondCallerIsBusy()
        case .triesNeverWait: try await trial.triesNeverWait()
        case .slowReaderHoldsBack: try await trial.slowReaderHoldsBack()
        case .closeWakesWhoWaits: try await trial.closeWakesWhoWaits()
        case .cancelledReadTakesNothing: try await trial.cancelledReadTakesNothing()
        case .cancelledWriteFails: try await trial.cancelledWriteFails()
        case .lateReadTakesNothing: try await trial.lateReadTakesNothing()
        case .lateWriteFails: try await trial.lateWriteFails()
        case .breakIsAnErrorAfterTheBytes: try await trial.breakIsAnErrorAfterTheBytes()
        case .writingToNobodyThrows: try await trial.writingToNobodyThrows()
        case .eventsComeInOrder: try await trial.eventsComeInOrder()
        case .anyOrderOfPreparing: try await trial.anyOrderOfPreparing(makePipe)
        case .bytesAreToldOncePerRead: try await trial.bytesAreToldOncePerRead()
        case .roomIsToldOncePerWrite: try await trial.roomIsToldOncePerWrite()
        case .onlyWantedEvents: try await trial.onlyWantedEvents()
        case .closeInCallbackIsLast: try await trial.closeInCallbackIsLast(makePipe)
        case .callbackMayReadToTheEnd: try await trial.callbackMayReadToTheEnd()
        case .replacedClientIsSilent: try await trial.replacedClientIsSilent()
        case .stylesMix: try await trial.stylesMix()
        case .droppingCloses: try await trial.droppingCloses(makePipe)
        }
    }
}
