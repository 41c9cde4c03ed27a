internal import CGSSAPI
@_spi(Packages) internal import EventLoops
internal import Glibc

/// The functions of MIT Kerberos, loaded at run time, and their coordination with the end of the process.
///
/// The library is loaded when a server first offers Negotiate and the policy allows it. A program that never uses
/// Negotiate starts, and runs, on a machine without the library.
///
/// When a process exits, the library destroys its mutexes. A thread that is inside the library then, or that releases a
/// context later, would abort the process ("k5_mutex_lock: Invalid argument") after all work was done. Every call
/// therefore holds a read lock. At exit the write lock is taken and never released; later calls are skipped.
struct GSSLibrary: Sendable {
    /// The file of the library: that of MIT Kerberos 1.7 and later. It loads libkrb5 itself.
    static let fileName = "libgssapi_krb5.so.2"

    /// How long the exit waits for running calls, in milliseconds. Calls that only compute finish in that time. A call
    /// that waits for a dead Kerberos server does not; it stays in the kernel while the process ends.
    static let exitWaitMilliseconds = 200

    /// The library, or the reason why it cannot be used. The first access loads it.
    static var shared: Result<GSSLibrary, HTTPAuthError> { kept.value }

    private static let kept = late(fileName)

    /// A library that the first access loads, or the reason why it cannot be used: ``HTTPAuthError/Code/unavailable`` if it is not
    /// installed, cannot be loaded, or lacks a function.
    static func late(_ fileName: String) -> LateValue<Result<GSSLibrary, HTTPAuthError>> {
        // The library may use libcrypto.
        LibcryptoSetup.perform()
        return LateValue(library: fileName) { handle, reason in
            Result { () throws(HTTPAuthError) in
                guard let handle else {
                    throw .negotiate(.unavailable, "MIT Kerberos is not installed or cannot be loaded: \(reason)")
                }
                return try GSSLibrary(handle, of: fileName)
            }
        }
    }

    let importName: netkit_gss_import_name
    let releaseName: netkit_gss_release_name
    let releaseBuffer: netkit_gss_release_buffer
    let releaseCredential: netkit_gss_release_cred
    let displayStatus: netkit_gss_display_status
    let initializeContext: netkit_gss_init_sec_context
    let deleteContext: netkit_gss_delete_sec_context
    let sign: netkit_gss_get_mic
    let verify: netkit_gss_verify_mic
    let acquireCredential: netkit_gss_acquire_cred_from
    let acquireCredentialWithPassword: netkit_gss_acquire_cred_with_password
    let createKerberos: netkit_krb5_init_context
    let freeKerberos: netkit_krb5_free_context
    let getHostRealm: netkit_krb5_get_host_realm
    let freeHostRealm: netkit_krb5_free_host_realm

    /// - Throws: ``HTTPAuthError/Code/unavailable`` if the library lacks a function.
    private init(_ handle: UnsafeMutableRawPointer, of fileName: String) throws(HTTPAuthError) {
        func function<Function>(_ name: String, _: Function.Type) throws(HTTPAuthError) -> Function {
            guard let symbol = dlsym(handle, name) else {
                throw .negotiate(.unavailable, "\(fileName) has no function \(name); MIT Kerberos 1.11 or later has it")
            }
            return unsafeBitCast(symbol, to: Function.self)
        }
        importName = try function("gss_import_name", netkit_gss_import_name.self)
        releaseName = try function("gss_release_name", netkit_gss_release_name.self)
        releaseBuffer = try function("gss_release_buffer", netkit_gss_release_buffer.self)
        releaseCredential = try function("gss_release_cred", netkit_gss_release_cred.self)
        displayStatus = try function("gss_display_status", netkit_gss_display_status.self)
        initializeContext = try function("gss_init_sec_context", netkit_gss_init_sec_context.self)
        deleteContext = try function("gss_delete_sec_context", netkit_gss_delete_sec_context.self)
        sign = try function("gss_get_mic", netkit_gss_get_mic.self)
        verify = try function("gss_verify_mic", netkit_gss_verify_mic.self)
        acquireCredential = try function("gss_acquire_cred_from", netkit_gss_acquire_cred_from.self)
        acquireCredentialWithPassword = try function(
            "gss_acquire_cred_with_password", netkit_gss_acquire_cred_with_password.self)
        // In libkrb5, which the library depends on: `dlsym` searches the dependencies of a handle as well.
        createKerberos = try function("krb5_init_context", netkit_krb5_init_context.self)
        freeKerberos = try function("krb5_free_context", netkit_krb5_free_context.self)
        getHostRealm = try function("krb5_get_host_realm", netkit_krb5_get_host_realm.self)
        freeHostRealm = try function("krb5_free_host_realm", netkit_krb5_free_host_realm.self)
    }

    // Safe: the pointer is written once, here, and the lock may be used by all threads.
    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        lock.initialize(to: pthread_rwlock_t())
        pthread_rwlock_init(lock, nil)
        // `use` loads the library before it comes here, so the library's own exit handler runs after this one.
        atexit { GSSLibrary.close() }
        return lock
    }()

    /// Runs GSSAPI calls; returns nil without running them if the library is not available or the process is exiting.
    static func use<Result>(_ body: (GSSLibrary) -> Result) -> Result? {
        guard case .success(let library) = shared, pthread_rwlock_tryrdlock(lock) == 0 else { return nil }
        defer { pthread_rwlock_unlock(lock) }
        return body(library)
    }

    private static func close() {
        var limit = timespec()
        clock_gettime(CLOCK_REALTIME, &limit)
        let nanoseconds = limit.tv_nsec + exitWaitMilliseconds * 1_000_000
        limit.tv_sec += nanoseconds / 1_000_000_000
        limit.tv_nsec = nanoseconds % 1_000_000_000
        pthread_rwlock_timedwrlock(lock, &limit)
    }
}
