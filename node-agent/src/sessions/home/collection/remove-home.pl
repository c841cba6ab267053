# Removes a home that was moved aside, with the agent's rights. What lies in it was made by strangers, and another
# session that once entered it may still change it.
#
# usage: perl remove-home.pl ROOT NAME...
#
# ROOT is a directory, each NAME an entry of the one before; the last one is removed. It ends with 0 when that is gone,
# and with 1 when something is left. What could not be removed is printed, a few lines of it. It ends with 3 when
# descriptor 3 reads end-of-file: the agent is gone, and its next process starts this again.
#
# It follows no link: every directory is opened without following one, and names are looked up in the open directory.
# It enters no other mount, also not one of the same file system. Its memory does not grow with the number of files.
use strict;
use Fcntl qw(:DEFAULT :mode);

# Open directories at once. Deeper ones are moved to the top first, so depth costs no descriptors.
use constant DEEPEST => 64;
use constant REPORTED => 4;
# Entries between two looks at descriptor 3: some milliseconds of work.
use constant WATCHED => 256;

my ($entries, $moved, $reported, $top, $mount) = (0, 0, 0);
my $lifeline = -e '/proc/self/fd/3';
$| = 1;

sub watch {
  return if !$lifeline || ++$entries % WATCHED;
  my $bits = '';
  vec($bits, 3, 1) = 1;
  exit 3 if select($bits, undef, undef, 0);
}

# @returns 1 where the entry is gone already
sub complain {
  my ($entry, $why) = @_;
  return 1 if !defined $why && $!{ENOENT};
  $why = "$!" if !defined $why;
  if ($reported++ < REPORTED) {
    my $path = readlink('/proc/self/cwd') . "/$entry";
    $path =~ s/[^\x20-\x7e]/?/g;
    print substr($path, 0, 300), ": $why\n";
  }
  return 0;
}

sub open_directory {
  sysopen my $directory, shift, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK or return;
  return $directory;
}

# The mount that an open directory belongs to; a bind mount has the device of its source. Source: proc_pid_fdinfo(5).
sub mount_of {
  my $directory = shift;
  if (open my $info, '<', '/proc/self/fdinfo/' . fileno $directory) {
    while (<$info>) { return $1 if /^mnt_id:\s*(\d+)/ }
  }
  return 'device ' . (stat $directory)[0];
}

# Takes it from everybody else, so that nothing is added to it from here on.
sub close_to_others {
  my $directory = shift;
  chown 0, 0, $directory if $> == 0;
  chmod 0700, $directory;
}

# A directory that is too deep becomes an entry of the top, under a name that is free.
sub lift {
  my $entry = shift;
  for (1 .. 100) {
    $moved++;
    return 1 if rename $entry, '/proc/self/fd/' . fileno($top) . "/.deep-$$-$moved";
    last if !$!{ENOTEMPTY} && !$!{EEXIST} && !$!{ENOTDIR};
  }
  return complain($entry);
}

# @returns whether the entry of the current directory is gone
sub remove_entry {
  my ($entry, $here, $depth) = @_;
  my @info = lstat $entry or return complain($entry);
  if (!S_ISDIR($info[2])) { return unlink($entry) ? 1 : complain($entry) }
  my $directory = open_directory($entry);
  if (!$directory && $!{EACCES} && $> != 0) {
    # An agent without root owns it, and an app closed it to itself.
    chmod 0700, $entry;
    $directory = open_directory($entry);
  }
  return complain($entry) if !$directory;
  return complain($entry, 'a file system is mounted here') if mount_of($directory) ne $mount;
  close_to_others($directory);
  return lift($entry) if $depth >= DEEPEST;
  chdir $directory or return complain($entry);
  empty($directory, $depth + 1);
  chdir $here or die "chdir: $!\n";
  return rmdir($entry) ? 1 : complain($entry);
}

# Empties the current directory. Again after a round that removed something: a file system may leave out entries while
# others are removed.
sub empty {
  my ($here, $depth) = @_;
  for (;;) {
    my $gone = 0;
    opendir my $list, '.' or return complain('.');
    while (defined(my $entry = readdir $list)) {
      next if $entry eq '.' || $entry eq '..';
      watch();
      $gone++ if remove_entry($entry, $here, $depth);
    }
    closedir $list;
    return if $gone == 0;
  }
}

my ($root, @way) = @ARGV;
my $name = pop @way;
die "usage: remove-home.pl ROOT NAME...\n" if !defined $name;
my $parent;
for my $part ($root, @way) {
  $parent = open_directory($part);
  if (!$parent) { exit(complain($part) ? 0 : 1) }
  chdir $parent or die "chdir: $!\n";
}
$top = open_directory($name);
if (!$top) { exit(complain($name) ? 0 : 1) }
$mount = mount_of($top);
if ($mount ne mount_of($parent)) { complain($name, 'a file system is mounted here'); exit 1 }
close_to_others($top);
chdir $top or die "chdir: $!\n";
empty($top, 1);
chdir $parent or die "chdir: $!\n";
exit 0 if rmdir $name;
complain($name) if $reported == 0;
exit 1;
