import CFNetworkPrograms
import CoreFoundation
import Foundation
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@testable import CFNetworkEngine

/// The C interface, as programs in C use it. Each program has a process of its own: some count the open sockets, and some read
/// settings of the whole process.
@Suite(.timeLimit(.minutes(5)))
struct ProgramsTests {
    enum Program: String, Codable, CaseIterable {
        case messages, receivedMessages, messageRules, constants, toolchain
        case states, transfers
        case pairsOfStreams, boundPair, errors, eventsOnARunLoop, blockingWhileScheduled, eventsOnAQueue
        case settings, socksErrors, tls, upgrade
        case httpLoads, httpUploads, httpConnections, httpEvents, httpAuthentication
        case hosts, hostEvents, hostStreams
        case service, services
        case objects, threads
        case proxies, proxyScripts, diagnostics
        case ftpTransfers, ftpEvents, ftpListing
        case keychain, keychainService, items, keychainMistakes, keychainMemory, keychainThreads
        case certificates, trust, policies, identity, trustThreads
        case storeKeys, store, storeChanges, reachability, reachabilityEvents, scheduleThreads
        case mistakes

        /// Returns the condition that does not hold, or `nil`.
        func run() -> String? {
            let failure =
                switch self {
                case .messages: CFNetworkMessageProgram()
                case .receivedMessages: CFNetworkReceivingProgram()
                case .constants: CFNetworkConstantsProgram()
                case .messageRules: CFNetworkMessageRulesProgram()
                case .states: CFNetworkStatesProgram()
                case .transfers: CFNetworkTransfersProgram()
                case .toolchain: CFNetworkToolchainProgram()
                case .pairsOfStreams: CFNetworkPairsProgram()
                case .boundPair: CFNetworkBoundPairProgram()
                case .errors: CFNetworkErrorsProgram()
                case .eventsOnARunLoop: CFNetworkEventsProgram()
                case .blockingWhileScheduled: CFNetworkMixedProgram()
                case .eventsOnAQueue: CFNetworkQueueProgram()
                case .settings: CFNetworkSettingsProgram()
                case .socksErrors: CFNetworkSOCKSProgram()
                case .tls: CFNetworkTLSProgram(String(decoding: TestIdentity.pem, as: UTF8.self))
                case .upgrade: CFNetworkUpgradeProgram(String(decoding: TestIdentity.pem, as: UTF8.self))
                case .httpLoads: CFNetworkHTTPProgram()
                case .httpUploads: CFNetworkUploadProgram()
                case .httpConnections: CFNetworkHTTPConnectionsProgram()
                case .httpEvents: CFNetworkHTTPEventsProgram()
                case .httpAuthentication: CFNetworkAuthenticationProgram()
                case .hosts: CFNetworkHostProgram()
                case .hostEvents: CFNetworkHostEventsProgram()
                case .hostStreams: CFNetworkHostStreamsProgram()
                case .service: CFNetworkServiceProgram()
                case .services: CFNetworkServicesProgram()
                case .objects: CFNetworkObjectsProgram()
                case .threads: runThreads()
                case .proxies: CFNetworkProxiesProgram()
                case .proxyScripts: CFNetworkScriptsProgram()
                case .diagnostics: CFNetworkDiagnosticsProgram()
                case .ftpTransfers: CFNetworkFTPProgram()
                case .ftpEvents: CFNetworkFTPEventsProgram()
                case .ftpListing: CFNetworkListingProgram()
                case .keychain: CFNetworkKeychainProgram()
                case .keychainService: CFNetworkKeychainServiceProgram()
                case .items: CFNetworkItemsProgram()
                case .keychainMistakes: CFNetworkKeychainMistakesProgram()
                case .keychainMemory: CFNetworkKeychainMemoryProgram()
                case .keychainThreads: CFNetworkKeychainThreadsProgram()
                case .certificates: CFNetworkCertificatesProgram()
                case .trust: CFNetworkTrustProgram()
                case .policies: CFNetworkPoliciesProgram()
                case .identity: CFNetworkIdentityProgram()
                case .trustThreads: CFNetworkTrustThreadsProgram()
                case .storeKeys: CFNetworkStoreKeysProgram()
                case .store: CFNetworkStoreProgram()
                case .storeChanges: CFNetworkStoreChangesProgram()
                case .reachability: CFNetworkReachabilityProgram()
                case .reachabilityEvents: CFNetworkReachabilityEventsProgram()
                case .scheduleThreads: CFNetworkScheduleThreadsProgram()
                case .mistakes: runMistakes()
                }
            return failure.map { String(cString: $0) }
        }

        private func runMistakes() -> UnsafePointer<CChar>? {
            guard let der = try? TestIdentity.make().certificates[0].der else { return nil }
            return CFNetworkMistakesProgram(der, der.count)
        }

        private func runThreads() -> UnsafePointer<CChar>? {
            let lookup = HostLookup(name: "localhost")
            let facts = NetServiceState.Facts(
                name: "Étage 2", port: 80, hostName: "printer.local.",
                addresses: [.ip(IPAddress("192.0.2.1")!, port: 80)], record: AnnouncedRecord([]))
            guard (try? lookup.resolve(.addresses)) != nil, let host = HostState.makeHost(nil, lookup),
                let service = NetServiceState.makeService(nil, domain: "local.", type: "_http._tcp.", facts)
            else { return nil }
            return CFNetworkThreadsProgram(host.takeRetainedValue(), service.takeRetainedValue())
        }
    }

    /// The program passes each object and each pointer that a function of Security or SystemConfiguration takes, except the allocator.
    @Test func mistakesAreComplete() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
        let declaration = try Regex(
            #"CF_EXPORT [^;(]*?(\w+)\(([^;]*?)\)[^;()]*(?:\([\d, ]*\))?;"#, as: (Substring, Substring, Substring).self)
        let parameter = try Regex(
            #"(?:^|, )(?!CFAllocatorRef)[^,]*?(?:Ref|\*|CallBack|_queue_t)[ _][^,]*?(\w+)(?=,|$)"#,
            as: (Substring, Substring).self)
        var declared: Set<String> = []
        for folder in ["SecurityC/include/Security", "SystemConfigurationC/include/SystemConfiguration"] {
            let path = sources.appending(path: folder).path
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                let text = try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
                for function in text.matches(of: declaration).map(\.output) {
                    declared.formUnion(function.2.matches(of: parameter).map { "\(function.1) \($0.output.1)" })
                }
            }
        }
        let passed = (0...).lazy.map(CFNetworkMistakeName).prefix { $0 != nil }.compactMap {
            $0.map(String.init(cString:))
        }
        #expect(Set(passed) == declared && declared.count == 133)
    }

    // Parity: ND-005, ND-009
    @Test(arguments: Program.allCases)
    func program(_ program: Program) async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) { [program] in
            // On a thread whose run loop the program may use.
            let failure = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: program.run()) }
            }
            print(failure ?? "passed")
        }
        let output = result.map { String(decoding: $0.standardOutputContent, as: UTF8.self) }
        #expect(output == "passed\n")
    }
}
