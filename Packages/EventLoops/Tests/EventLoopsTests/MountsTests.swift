import Foundation
import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct MountsTests {
        private static let text = #"""
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            23 22 0:5 / /dev rw,nosuid - devtmpfs udev rw
            24 22 0:44 / /mnt rw - nfs4 one:/ rw
            25 24 0:45 / /mnt/a\040b rw master:2 - nfs4 two:/ rw
            not a line
            26 22 259:70000 / /dev rw - ext4 /dev/nvme0n1 rw
            27 22 0:46 / /other rw shared:3 master:1 - nfs4 two:/other rw
            28 22 0:47 / /six rw - nfs fd00::1:/export rw
            29 22 0:48 / /share rw - cifs //two/share rw
            30 22 0:33 /@home /home rw shared:5 - btrfs /dev/sdb rw
            31 22 0:33 /@data /data rw - btrfs /dev/sdb rw
            32 22 0:49 / /short
            """#

        @Test(arguments: [
            ("/", Mounts.Device.number(0x801)), ("/etc/hosts", .number(0x801)), ("/mnt", .server("one")),
            ("/mnt/x/y", .server("one")), ("/mnt2", .number(0x801)), ("/mnt/a b/c", .server("two")),
            ("/mnt/a b", .server("two")), ("/mnt/a", .server("one")), ("/mnt/./a b//c", .server("two")),
            ("/mnt/a b/../c", .server("one")), ("/mnt/../..", .number(0x801)),
            // The later of two mounts at one point hides the earlier one. 70000 = 0x11170, 259 = 0x103.
            ("/dev/x", .number(0x1111_0370)),
            // All mounts of one server are one device, and so are the subvolumes of a disk.
            ("/other/x", .server("two")), ("/six", .server("fd00::1")), ("/share/x", .server("two")),
            ("/home/x", .number(0x21)), ("/data", .number(0x21)), ("/short", .number(0x31)),
        ])
        func theInnermostAndLatestMountHasThePath(_ path: String, _ device: Mounts.Device) {
            #expect(Mounts(text: Self.text).device(at: path) == device)
        }

        /// `st_dev` of a file in a subvolume is not the number of its mount.
        @Test func theMountOfAFileHasItsDevice() {
            let mounts = Mounts(text: Self.text)
            #expect(mounts.device(ofMount: 30, 0x1234) == .number(0x21))
            #expect(mounts.device(ofMount: 31, 0x1235) == .number(0x21))
            #expect(mounts.device(ofMount: 25, 45) == .server("two"))
            #expect(mounts.device(ofMount: 99, 0x1236) == .number(0x1236))
        }

        @Test func withoutTheListTheDeviceIsUnknown() {
            #expect(Mounts(text: "").device(at: "/etc") == .unknown)
        }

        /// The list of a test, and its readings.
        private final class Source: Sendable {
            private struct State {
                var text = MountsTests.text
                var reads = 0
                var readsOnLoops = 0
            }
            private let state = Locked(State())

            var reads: Int { state.withLock { $0.reads } }
            var readsOnLoops: Int { state.withLock { $0.readsOnLoops } }

            func set(_ text: String) { state.withLock { $0.text = text } }

            func read() -> String {
                state.withLock { state in
                    state.reads += 1
                    if LoopThread.isCurrent { state.readsOnLoops += 1 }
                    return state.text
                }
            }
        }

        private let source = Source()
        private let start = Moment.now

        private func kept(_ threads: BlockingThreads = BlockingThreads(limit: 1)) -> KeptMounts {
            KeptMounts(threads: threads, now: start) { [source] in source.read() }
        }

        @Test func theListIsReadOnceInAWhile() async {
            let kept = kept()
            for second in [0, 1, 4] {
                #expect(kept.mounts(now: start + .seconds(second)).device(at: "/mnt") == .server("one"))
            }
            #expect(source.reads == 1)
            _ = kept.mounts(now: start + .seconds(5))
            await until { source.reads == 2 }
        }

        /// The old list is used until a thread has read the new one. Reading takes long with thousands of mounts.
        @Test func theListIsReadOnAThread() async throws {
            let threads = BlockingThreads(limit: 1)
            let kept = kept(threads)
            _ = kept.mounts(now: start)
            let mayRead = Flag()
            let held = Task { try await threads.value { mayRead.wait() } }
            await until { threads.threadCount == 1 && threads.queueCount == 0 }
            source.set("24 22 0:44 / /mnt rw - nfs4 three:/ rw")
            let later = start + .seconds(5)
            let devices = (0..<3).map { _ in kept.mounts(now: later).device(at: "/mnt") }
            #expect(devices == [.server("one"), .server("one"), .server("one")] && threads.queueCount == 1)
            mayRead.set()
            #expect(try await held.value)
            await until { kept.mounts(now: later).device(at: "/mnt") == .server("three") }
            #expect(source.reads == 2)
        }

        @Test func noListIsReadOnALoop() async {
            let kept = kept()
            let first = await withCheckedContinuation { done in
                EventLoop.shared.execute { [start] in done.resume(returning: kept.mounts(now: start).device(at: "/mnt"))
                }
            }
            #expect(first == .unknown)
            await until { kept.mounts(now: start).device(at: "/mnt") == .server("one") }
            #expect(source.readsOnLoops == 0)
        }

        /// A process without descriptors cannot read the list.
        @Test func theOldListIsKeptIfThereIsNoNewOne() async {
            let kept = kept()
            _ = kept.mounts(now: start)
            source.set("")
            _ = kept.mounts(now: start + .seconds(5))
            await until { source.reads == 2 }
            #expect(kept.mounts(now: start + .seconds(5)).device(at: "/mnt") == .server("one"))
            // The next attempt comes sooner.
            source.set("24 22 0:44 / /mnt rw - nfs4 three:/ rw")
            await until { kept.mounts(now: start + .seconds(6)).device(at: "/mnt") == .server("three") }
        }

        /// The list agrees with the system, for a path that exists and a relative one. `/proc` is a mount everywhere.
        @Test(arguments: ["/proc/self/mountinfo", "/dev/null"])
        func theDeviceOfThisSystem(_ path: String) {
            var status = stat()
            #expect(stat(path, &status) == 0)
            let device = Mounts.Device.number(UInt64(status.st_dev))
            #expect(Mounts.present.device(at: path) == device)
            let up = String(repeating: "../", count: 50)
            #expect(Mounts.present.device(at: up + path.dropFirst()) == device)
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            #expect(Mounts.present.device(of: descriptor) == device)
        }
    }
}
