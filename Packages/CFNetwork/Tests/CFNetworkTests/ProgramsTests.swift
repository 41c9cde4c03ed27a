import CFNetworkPrograms
import Testing

/// The C interface, as programs in C use it.
struct ProgramsTests {
    @Test func messages() { expectSuccess(CFNetworkMessageProgram()) }

    @Test func receivedMessages() { expectSuccess(CFNetworkReceivingProgram()) }

    @Test func constants() { expectSuccess(CFNetworkConstantsProgram()) }

    private func expectSuccess(_ failure: UnsafePointer<CChar>?, _ location: SourceLocation = #_sourceLocation) {
        #expect(failure.map { String(cString: $0) } == nil, sourceLocation: location)
    }
}
