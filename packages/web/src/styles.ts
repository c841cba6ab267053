// Contains only the styles of the Mantine components in use, in the order of their dependencies. Our tokens and base
// styles come last, so that they override Mantine without more specific selectors.
import '@mantine/core/styles/baseline.css';
import '@mantine/core/styles/UnstyledButton.css';
import '@mantine/core/styles/CloseButton.css';
import '@mantine/core/styles/Loader.css';
import '@mantine/core/styles/ActionIcon.css';
import '@mantine/core/styles/Button.css';
import '@mantine/core/styles/Input.css';
import '@mantine/core/styles/PasswordInput.css';
import './theme/tokens.css';
import './theme/base.css';
