import CServiceDaemon
import EventLoops
import Foundation

@testable import ServiceDiscovery

/// A library of dns_sd.h that does what the test says. Its functions are C's, so there is one for the process: tests that use it
/// do so one after the other.
enum ScriptedDaemon {
    /// One `DNSServiceRef`.
    struct Reference {
        var register: netkit_daemon_register_reply?
        var record: netkit_daemon_record_reply?
        var context: UInt?
        /// The TXT records given, in order.
        var texts: [[UInt8]] = []
        var isEnded = false
    }

    struct State {
        var references: [Int: Reference] = [:]
        /// What `DNSServiceRefSockFD` says.
        var descriptor: CInt = -1
        /// Happens within `DNSServiceRegister`, on the thread that called it.
        var meanwhile: (@Sendable () -> Void)?
        var updateError: Int32 = 0
        /// What `DNSServiceProcessResult` says.
        var failsResults: Int32 = 0
        /// How many messages it first takes without a reply, and without an error.
        var quietResults = 0
    }

    static let state = Locked(State())

    /// Begins anew, with this descriptor for all references.
    static func reset(descriptor: CInt, meanwhile: (@Sendable () -> Void)? = nil) {
        state.withLock { $0 = State(descriptor: descriptor, meanwhile: meanwhile) }
    }

    static var library: DaemonLibrary {
        var functions = netkit_daemon()
        functions.begin_registration = { reference, _, _, _, _, _, _, _, length, text, reply, context in
            ScriptedDaemon.state.withLock { $0.meanwhile }?()
            let bytes = Array(UnsafeRawBufferPointer(start: text, count: Int(length)))
            let number = ScriptedDaemon.add(
                Reference(register: reply, context: UInt(bitPattern: context), texts: [bytes]))
            reference?.pointee = OpaquePointer(bitPattern: number)
            return 0
        }
        functions.query_record = { reference, _, _, _, _, _, reply, context in
            let number = ScriptedDaemon.add(Reference(record: reply, context: UInt(bitPattern: context)))
            reference?.pointee = OpaquePointer(bitPattern: number)
            return 0
        }
        functions.update_record = { reference, _, _, length, text, _ in
            let bytes = Array(UnsafeRawBufferPointer(start: text, count: Int(length)))
            return ScriptedDaemon.state.withLock { state in
                if state.updateError == 0 { state.references[Int(bitPattern: reference)]?.texts.append(bytes) }
                return state.updateError
            }
        }
        functions.process_result = { reference in
            _ = reference
            return ScriptedDaemon.state.withLock { state in
                guard state.quietResults == 0 else {
                    state.quietResults -= 1
                    return 0
                }
                return state.failsResults
            }
        }
        functions.descriptor = { _ in ScriptedDaemon.state.withLock { $0.descriptor } }
        functions.deallocate = { reference in
            ScriptedDaemon.state.withLock { $0.references[Int(bitPattern: reference)]?.isEnded = true }
        }
        return DaemonLibrary(functions)
    }

    private static func add(_ reference: Reference) -> Int {
        state.withLock { state in
            let number = state.references.count + 1
            state.references[number] = reference
            return number
        }
    }
}

/// Keeps what it is told, and can be waited for.
final class RecordingSink: DiscoverySink {
    private let events = Locked<[DiscoveryEvent]>([])
    private let rung = DispatchSemaphore(value: 0)

    func put(_ event: DiscoveryEvent, of operation: Int) {
        events.withLock { $0.append(event) }
    }

    func ring() {
        rung.signal()
    }

    /// All events, after waiting for a ring; at most ten seconds.
    func next() -> [DiscoveryEvent] {
        _ = rung.wait(timeout: .now() + 10)
        return events.withLock { $0 }
    }
}
