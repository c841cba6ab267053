# Confines this process, and all that it starts, with a seccomp filter. Other scripts begin with this text.

# prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, struct sock_fprog) on x86-64; it takes no_new_privs, which setpriv has set.
sub confine {
  my $filter = pack 'H*', shift;
  my $program = pack 'S x![P] P', length($filter) / 8, $filter;
  syscall(157, 22, 2, $program, 0, 0) == 0 or die "seccomp: $!\n";
}
