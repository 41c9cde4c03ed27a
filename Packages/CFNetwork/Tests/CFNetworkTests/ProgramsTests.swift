import CFNetworkPrograms
import Foundation
import StreamKitTesting
import Testing

/// The C interface, as programs in C use it. Serialized, because some programs count the sockets of the process.
@Suite(.serialized)
struct ProgramsTests {
    @Test func messages() async { await expectSuccess(CFNetworkMessageProgram) }

    @Test func receivedMessages() async { await expectSuccess(CFNetworkReceivingProgram) }

    @Test func constants() async { await expectSuccess(CFNetworkConstantsProgram) }

    @Test func pairsOfStreams() async { await expectSuccess(CFNetworkPairsProgram) }

    @Test func boundPair() async { await expectSuccess(CFNetworkBoundPairProgram) }

    @Test func errors() async { await expectSuccess(CFNetworkErrorsProgram) }

    @Test func eventsOnARunLoop() async { await expectSuccess(CFNetworkEventsProgram) }

    @Test func blockingWhileScheduled() async { await expectSuccess(CFNetworkMixedProgram) }

    @Test func eventsOnAQueue() async { await expectSuccess(CFNetworkQueueProgram) }

    @Test func settings() async { await expectSuccess(CFNetworkSettingsProgram) }

    @Test func socksErrors() async { await expectSuccess(CFNetworkSOCKSProgram) }

    @Test func tls() async {
        await expectSuccess { CFNetworkTLSProgram(String(decoding: TestIdentity.pem, as: UTF8.self)) }
    }

    @Test func httpLoads() async { await expectSuccess(CFNetworkHTTPProgram) }

    @Test func httpUploads() async { await expectSuccess(CFNetworkUploadProgram) }

    @Test func httpConnections() async { await expectSuccess(CFNetworkHTTPConnectionsProgram) }

    @Test func httpEvents() async { await expectSuccess(CFNetworkHTTPEventsProgram) }

    @Test func httpAuthentication() async { await expectSuccess(CFNetworkAuthenticationProgram) }

    @Test func hosts() async { await expectSuccess(CFNetworkHostProgram) }

    @Test func hostEvents() async { await expectSuccess(CFNetworkHostEventsProgram) }

    @Test func hostStreams() async { await expectSuccess(CFNetworkHostStreamsProgram) }

    @Test func service() async { await expectSuccess(CFNetworkServiceProgram) }

    @Test func services() async { await expectSuccess(CFNetworkServicesProgram) }

    @Test func proxies() async { await expectSuccess(CFNetworkProxiesProgram) }

    @Test func proxyScripts() async { await expectSuccess(CFNetworkScriptsProgram) }

    @Test func diagnostics() async { await expectSuccess(CFNetworkDiagnosticsProgram) }

    @Test func ftpTransfers() async { await expectSuccess(CFNetworkFTPProgram) }

    @Test func ftpListing() async { await expectSuccess(CFNetworkListingProgram) }

    /// Runs a program on a thread of its own, whose run loop it may use.
    private func expectSuccess(
        _ program: @escaping @Sendable () -> UnsafePointer<CChar>?, _ location: SourceLocation = #_sourceLocation
    ) async {
        let failure = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: program().map { String(cString: $0) }) }
        }
        #expect(failure == nil, sourceLocation: location)
    }
}
